internal import Foundation
internal import KeyServiceCore
package import VaultCrypto

/// The settings of the key service.
package struct KeyServiceServerConfiguration: Sendable {
    /// The address to listen on: a host name or a numeric address, without brackets.
    package var host = "127.0.0.1"
    /// The TCP port to listen on; 0 lets the system choose a free one.
    package var port = 0
    /// The path before `/keyservice/v1/…` in the URLs, for example `/auth/realms/demo`. It is empty or begins with a
    /// slash. A slash at the end is dropped.
    package var basePath = ""
    /// The number of wrong guesses in a row that lock a key, at least 1; nil keeps the number in the store. It
    /// changes the store for all instances of the service.
    package var maxGuesses: Int?
    /// The number of wrong guesses in a key's whole life that lock it, at least 1; nil keeps the number in the
    /// store. Right guesses do not reset this count.
    package var maxGuessesTotal: Int?
    /// The Argon2 cost of a new key, for secrets other than `cv1.` ones. An existing key keeps its cost.
    package var argon2 = Argon2Parameters.server
    /// The number of Argon2 computations at the same time. Each uses the memory in its parameters.
    package var stretchingThreads = max(1, ProcessInfo.processInfo.activeProcessorCount)
    /// The number of requests that may run or wait for Argon2. Further requests get "busy".
    package var maxStretchingRequests = 64
    /// The number of requests under way at the same time, besides those for Argon2. Further requests get "busy", so
    /// that the accepted ones stay fast.
    package var maxRequestsUnderWay = 256
    /// The number of connections at the same time, at least 1. A further one takes the place of an idle one. Each needs
    /// an open file.
    package var maxConnections = 512
    /// The number of connections of one client address at the same time; 0 for no limit. Further connections are closed
    /// at once. A whole IPv6 /64 counts as one address. ``trustedProxies`` have no limit.
    package var maxConnectionsPerAddress = 256
    /// The longest time for a whole request to arrive, in milliseconds. After it, the connection is closed.
    package var requestDeadline = 10_000
    /// The addresses of reverse proxies, such as `127.0.0.1` or `10.0.0.0/8`. The service trusts
    /// `X-Forwarded-For` only from these.
    package var trustedProxies: [String] = []
    /// The number of new keys in an hour for one client address; 0 for no limit. Further requests get "busy".
    package var createsPerHour = 600
    /// The number of new keys in an hour for all clients; 0 for no limit. Further requests get "busy".
    package var createsPerHourTotal = 20_000
    /// The number of refused requests in a minute for one client address, such as wrong guesses; 0 for no limit. Ten
    /// times as many may come at once. Above the limit, all requests of the address get "busy".
    package var refusalsPerMinute = 60
    /// The time after which a key of the protocol's version 2 that stays locked is destroyed, in seconds.
    package var destroyAfter: Int64 = 30 * 24 * 3600
    /// Whether a new key of the protocol's version 2 ends after 24 hours if nobody claimed it. It has no effect if the
    /// service keeps no lists of devices. Keys that were made before stay.
    package var endsUnclaimedKeys = true
    /// Whether an owner may unlock a key on the list of devices after a fresh sign-in at the provider. It has no effect
    /// if the service keeps no lists of devices.
    package var ownersMayUnlock = false
    /// A second address, for `/healthz`, `/readyz` and `/metrics` over plain HTTP; nil for none.
    package var healthAddress: (host: String, port: Int)?
    /// The files for TLS; nil for plain HTTP.
    package var tls: TLSFiles?
    /// The time between two looks at the files for TLS, in milliseconds.
    package var certificateCheckInterval = 60_000

    /// Makes the default settings: a free port of the loopback interface, and the store's limits of guesses.
    package init() {}

    /// The largest request body, in bytes.
    static let maxBodySize = 16 * 1024

    /// Returns the settings in their normal form, or throws an error that names the wrong setting.
    func validated() throws -> KeyServiceServerConfiguration {
        var result = self
        while result.basePath.hasSuffix("/") { result.basePath.removeLast() }
        let allowed = result.basePath.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x3F && $0 != 0x23 }
        guard result.basePath.isEmpty || (result.basePath.hasPrefix("/") && allowed) else {
            throw KeyServiceServerError(
                .configurationInvalid, "The base path is not valid. Write it as in a URL, with a slash at its start.")
        }
        guard (1...1000).contains(maxGuesses ?? 3) else {
            throw KeyServiceServerError(.configurationInvalid, "The number of guesses must be between 1 and 1000.")
        }
        guard (1...1_000_000).contains(maxGuessesTotal ?? 100) else {
            throw KeyServiceServerError(
                .configurationInvalid, "The number of guesses in all must be between 1 and 1000000.")
        }
        for (number, name) in [
            (maxConnectionsPerAddress, "connections for one address"), (createsPerHour, "new keys in an hour"),
            (createsPerHourTotal, "new keys in an hour for all addresses"),
            (refusalsPerMinute, "refused requests in a minute"),
        ] where !(0...1_000_000_000).contains(number) {
            throw KeyServiceServerError(
                .configurationInvalid, "The number of \(name) must be between 0 and 1000000000. 0 means no limit.")
        }
        guard (1...1_000_000).contains(maxConnections) else {
            throw KeyServiceServerError(
                .configurationInvalid, "The number of connections must be between 1 and 1000000.")
        }
        for proxy in trustedProxies where NetworkAddress.Range(proxy) == nil {
            throw KeyServiceServerError(
                .configurationInvalid,
                "\"\(proxy)\" is not the address of a proxy. Write it as 192.0.2.1, 10.0.0.0/8 or 2001:db8::/32.")
        }
        guard (0...3_153_600_000).contains(destroyAfter) else {
            throw KeyServiceServerError(
                .configurationInvalid, "The time until a locked key is destroyed must be between 0 and 36500 days.")
        }
        guard (0...65535).contains(port) else {
            throw KeyServiceServerError(.configurationInvalid, "The port must be between 0 and 65535.")
        }
        return result
    }
}
