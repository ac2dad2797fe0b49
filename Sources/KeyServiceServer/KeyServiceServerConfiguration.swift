internal import Foundation
public import VaultCrypto

/// The settings of the key service.
public struct KeyServiceServerConfiguration: Sendable {
    /// The address to listen on: a host name or a numeric address, without brackets.
    public var host = "127.0.0.1"
    /// The TCP port to listen on; 0 lets the system choose a free one.
    public var port = 0
    /// What stands before `/keyservice/v1/…` in the URLs, for example `/auth/realms/demo`. Empty, or with a leading
    /// slash; a trailing one is dropped.
    public var basePath = ""
    /// How many wrong guesses in a row lock a key, at least 1.
    public var maxGuesses = 3
    /// How many wrong guesses lock a key in its whole life, at least 1. Right ones in between do not matter.
    public var maxGuessesTotal = 100
    /// What a secret that is not a `cv1.` one costs in a new key. An existing key keeps what it was made with.
    public var argon2 = Argon2Parameters.server
    /// How many Argon2 computations run at the same time; each fills the memory that its parameters ask.
    public var stretchingThreads = max(1, ProcessInfo.processInfo.activeProcessorCount)
    /// How many requests may run or wait for Argon2. The next one is told to come back later.
    public var stretchingPlaces = 64
    /// How many connections are served at the same time; further ones wait in the system's queue.
    public var maxConnections = 512

    /// The defaults: a free port of the loopback interface, 3 guesses in a row and 100 in all.
    public init() {}

    var guessLimits: GuessLimits { GuessLimits(inARow: maxGuesses, inAll: maxGuessesTotal) }

    /// The largest request body, in bytes.
    static let maxBodySize = 16 * 1024

    /// The settings in their one form, or an error that says which is wrong.
    func validated() throws -> KeyServiceServerConfiguration {
        var result = self
        while result.basePath.hasSuffix("/") { result.basePath.removeLast() }
        let allowed = result.basePath.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x3F && $0 != 0x23 }
        guard result.basePath.isEmpty || (result.basePath.hasPrefix("/") && allowed) else {
            throw KeyServiceServerError(
                .configurationInvalid, "The base path must begin with a slash and be written as in a URL.")
        }
        guard (1...1000).contains(maxGuesses) else {
            throw KeyServiceServerError(.configurationInvalid, "The number of guesses must be between 1 and 1000.")
        }
        guard (1...1_000_000).contains(maxGuessesTotal) else {
            throw KeyServiceServerError(
                .configurationInvalid, "The number of guesses in all must be between 1 and 1000000.")
        }
        guard (0...65535).contains(port) else {
            throw KeyServiceServerError(.configurationInvalid, "The port must be between 0 and 65535.")
        }
        return result
    }
}
