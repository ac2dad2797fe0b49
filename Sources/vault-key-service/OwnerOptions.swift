internal import ArgumentParser
internal import Foundation
internal import KeyServiceCore
internal import VaultBase

/// The identity providers whose access tokens prove who owns a key.
struct OwnerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            An identity provider. People who sign in there can list and revoke their devices with an access token. \
            Can be given several times. With this option, a new key ends after 24 hours unless its owner has put it on \
            the list: see --keep-unclaimed-keys. (default: none, and the service keeps no list of devices)
            """,
            valueName: "issuer"))
    var ownerIssuer: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            The audience that these access tokens must name. Without it and without --public-url, a token that was made \
            for another service can revoke a person's devices, too.
            """,
            valueName: "audience"))
    var ownerAudience: String?

    @Option(
        help: ArgumentHelp(
            """
            The URL of this service for clients, with the base path. Access tokens that are bound to a key (DPoP, RFC \
            9449) need a proof for this URL, so the service refuses them without this option. Without --owner-audience, \
            this URL is also the audience.
            """,
            valueName: "url"))
    var publicURL: String?

    @Option(
        help: ArgumentHelp(
            "The id of the client that asks about opaque access tokens (RFC 7662).", valueName: "client-id"))
    var ownerClientID: String?

    @Option(
        help: ArgumentHelp(
            "The file with this client's secret. Other users must not be able to read it.", valueName: "file"))
    var ownerClientSecretFile: String?

    @Flag(
        help: """
            Keep new keys that are on no list of devices. Without it, a new key ends after 24 hours unless its owner has \
            put it on the list. Clients that never send an access token then make no keys here.
            """)
    var keepUnclaimedKeys = false

    @Flag(
        help: """
            Let people unlock a key on their list of devices, each key at most once in 24 hours. The access token must be \
            from a sign-in of the last 5 minutes. This option needs --public-url or --owner-audience.
            """)
    var ownerUnlock = false

    /// Whether owners may unlock their keys.
    func mayUnlock(_ settings: Settings) throws -> Bool {
        guard try settings.flag(ownerUnlock, "ownerUnlock") else { return false }
        guard settings.names(ownerAudience, "ownerAudience") || settings.names(publicURL, "publicUrl"),
            !settings.list(ownerIssuer, "ownerIssuer").isEmpty
        else {
            throw Failure.configuration(
                "A token for another service must not unlock a key. With --owner-unlock, add: --owner-issuer URL --public-url URL"
            )
        }
        return true
    }

    /// - Returns: nil if there is no issuer.
    func verifier(_ settings: Settings) throws -> (any OwnerVerifier)? {
        let issuers = settings.list(ownerIssuer, "ownerIssuer")
        guard !issuers.isEmpty else { return nil }
        #if Networking
            let clientID = settings.string(ownerClientID, "ownerClientId")
            let secret = try settings.string(ownerClientSecretFile, "ownerClientSecretFile").map(Self.secret)
            guard (clientID == nil) == (secret == nil) else {
                throw Failure.configuration(
                    "A client that asks about access tokens needs both: --owner-client-id ID --owner-client-secret-file FILE"
                )
            }
            guard clientID == nil || issuers.count == 1 else {
                throw Failure.configuration(
                    "An opaque access token would go to all providers. With --owner-client-id, name only one --owner-issuer."
                )
            }
            for issuer in issuers where !OpenIDOwnerVerifier.isIssuer(issuer) {
                throw Failure.configuration("\"\(issuer)\" is not an issuer. Write it as https://login.example.com.")
            }
            let publicURL = try settings.string(self.publicURL, "publicUrl").map(Self.baseURL)
            return OpenIDOwnerVerifier(
                issuers: issuers, audience: settings.string(ownerAudience, "ownerAudience") ?? publicURL,
                publicURL: publicURL, clientID: clientID, clientSecret: secret)
        #else
            throw Failure.configuration(
                "This build cannot ask identity providers. Build it with the trait Networking.")
        #endif
    }

    /// Returns a URL without slashes at its end, as `vault` writes the audience.
    private static func baseURL(_ text: String) throws -> String {
        guard let parts = URLComponents(string: text), ["https", "http"].contains(parts.scheme),
            let host = parts.host, !host.isEmpty, parts.scheme == "https" || LoopbackAddress.isLoopback(host: host),
            parts.query == nil, parts.fragment == nil, parts.user == nil
        else {
            throw Failure.configuration("\"\(text)\" is not a URL for clients. Write it as https://keys.example.com.")
        }
        var text = text
        while text.hasSuffix("/") { text.removeLast() }
        return text
    }

    private static func secret(_ path: String) throws -> String {
        var status = stat()
        guard stat(path, &status) == 0, let data = FileManager.default.contents(atPath: path) else {
            throw Failure.configuration("\(path) cannot be read.")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw Failure.configuration("Other users can read \(path). Type: chmod 600 \(path)")
        }
        let secret = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard !secret.isEmpty else { throw Failure.configuration("\(path) is empty.") }
        return secret
    }
}
