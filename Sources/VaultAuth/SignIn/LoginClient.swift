package import Foundation
internal import OpenIDConnect
internal import VaultBase
internal import VaultCrypto
internal import VaultStorage

/// The client that a login at an OpenID provider uses: the configured one, or one that was registered (RFC 7591).
/// It does not print its secret.
package struct LoginClient: Sendable, CustomReflectable, CustomStringConvertible, CustomDebugStringConvertible {
    package let id: String
    /// The secret of the configured client, or of a client that was registered for this login.
    package var secret: String?
    /// The registered way to use the secret; nil if the provider did not say.
    package var authenticationMethod: String?

    package init(id: String, secret: String? = nil, authenticationMethod: String? = nil) {
        self.id = id
        self.secret = secret
        self.authenticationMethod = authenticationMethod
    }

    package var description: String { "LoginClient(\(id))" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["id": id]) }

    /// An earlier registered client, as it is stored for its issuer.
    package struct Record: Codable {
        package let clientID: String
        package let redirectURI: String
        package let registeredAt: Date

        package init(clientID: String, redirectURI: String, registeredAt: Date) {
            self.clientID = clientID
            self.redirectURI = redirectURI
            self.registeredAt = registeredAt
        }

        /// Nil if the record cannot be read. A client can then be registered again.
        package init?(_ bytes: [UInt8]?) {
            guard let bytes, let record = try? JSONDecoder().decode(Self.self, from: Data(bytes)) else { return nil }
            self = record
        }

        package func encoded() throws -> [UInt8] { Array(try JSONEncoder().encode(self)) }

        fileprivate var port: Int? { URLComponents(string: redirectURI)?.port }
    }
}

extension SignInContext {
    /// Returns the client of the settings, with its secret if it has one; nil if the settings name no client.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid` if there is a secret without a client id, or if the
    ///   secret is not valid (RFC 6749 appendix A.2): correct the setting.
    package func configuredClient() throws -> LoginClient? {
        guard let id = settings.clientID, !id.isEmpty else {
            guard settings.clientSecret == nil else {
                throw VaultError(
                    .configurationInvalid,
                    "The client secret needs a client id.", detail: .clientIDMissing)
            }
            return nil
        }
        guard let secret = settings.clientSecret else { return LoginClient(id: id) }
        guard secret.bytes.count > 0 else {
            throw VaultError(
                .configurationInvalid,
                "The client secret is empty. Set the secret, or remove the setting for a public client.")
        }
        guard secret.bytes.withUnsafeBytes({ $0.allSatisfy { (0x20...0x7E).contains($0) } }),
            let text = secret.bytes.utf8String()
        else {
            throw VaultError(
                .configurationInvalid,
                "The client secret has a character that is not allowed, such as a line break. Copy the secret again from the identity provider's pages, as one line."
            )
        }
        return LoginClient(id: id, secret: text)
    }

    /// Returns a receiver of the redirect, and a client that may use its redirect URI.
    func receiverAndClient(for delivery: RedirectDelivery) async throws -> (any RedirectReceiver, LoginClient) {
        try await receiverAndClient(for: delivery, known: registeredClient) {
            try await register(redirectURI: $0)
        }
    }

    /// Returns a receiver of the redirect, and a client that may use its redirect URI: the configured client, an
    /// earlier registered one, or a new one.
    ///
    /// - Parameters:
    ///   - register: registers a new client for this redirect URI.
    package func receiverAndClient(
        for delivery: RedirectDelivery, known: () async throws -> LoginClient.Record?,
        register: (_ redirectURI: String) async throws -> LoginClient
    ) async throws -> (any RedirectReceiver, LoginClient) {
        if let client = try configuredClient() { return (try await receiver(for: delivery), client) }
        // Some servers accept only the port that the client was registered with.
        if let known = try await known(), let receiver = try? await receiver(for: delivery, port: known.port) {
            if receiver.redirectURI == known.redirectURI { return (receiver, LoginClient(id: known.clientID)) }
            await receiver.stop()
        }
        let receiver = try await receiver(for: delivery)
        do {
            return (receiver, try await register(receiver.redirectURI))
        } catch {
            await receiver.stop()
            throw error
        }
    }

    /// Returns a client for a login without a redirect.
    func client() async throws -> LoginClient {
        if let client = try configuredClient() { return client }
        if let known = try await registeredClient() { return LoginClient(id: known.clientID) }
        return try await register(redirectURI: settings.redirectURI ?? "http://127.0.0.1/callback")
    }

    /// Runs `body` with a client. If the provider no longer knows a registered client, that client is forgotten. The
    /// next login then registers a new one.
    func using<R: Sendable>(_ client: LoginClient, _ body: () async throws -> R) async throws -> R {
        do {
            return try await body()
        } catch let error as OpenIDConnectError
            where error.code == .refused
            && ["invalid_client", "unauthorized_client"].contains(error.providerError ?? "")
        {
            try? await store.withRecord(recordName) { bytes in
                if LoginClient.Record(bytes)?.clientID == client.id { bytes = nil }
            }
            throw error
        }
    }

    private var recordName: String { "client \(settings.issuer)" }

    private func registeredClient() async throws -> LoginClient.Record? {
        guard !settings.registersAnew else { return nil }
        return try await store.withRecord(recordName) { LoginClient.Record($0) }
    }

    private func register(redirectURI: String) async throws -> LoginClient {
        let registered: RegisteredClient
        do {
            registered = try await provider(LoginClient(id: "")).registerClient(
                ClientMetadata(name: settings.clientName, redirectURIs: [redirectURI], scopes: settings.scopes))
        } catch let error as OpenIDConnectError where [.unsupported, .refused].contains(error.code) {
            throw VaultError(
                .configurationInvalid,
                "No client id is set, and the identity provider registers no client for this program. \(error.description) Register a public client there, then set its client id.",
                underlying: error)
        }
        guard registered.clientSecret == nil else {
            // The secret is sealed with the account's token, where no other account can read it.
            return LoginClient(
                id: registered.clientID, secret: registered.clientSecret,
                authenticationMethod: registered.tokenEndpointAuthMethod)
        }
        let record = LoginClient.Record(
            clientID: registered.clientID, redirectURI: redirectURI, registeredAt: clock.now)
        let bytes = try record.encoded()
        try await store.withRecord(recordName) { $0 = bytes }
        return LoginClient(id: registered.clientID)
    }
}

extension SignInResult {
    /// Makes a refresh token from an OpenID provider's answer to a login.
    init(_ tokens: TokenSet, client: LoginClient, in context: SignInContext) throws {
        guard let idToken = tokens.idToken else {
            throw VaultError(.tokenInvalid, "The identity provider sent no ID token. Add the scope openid.")
        }
        guard let refreshToken = tokens.refreshToken else {
            let granted = tokens.scope.map { " Granted scopes: \($0)." } ?? ""
            throw VaultError(
                .configurationInvalid,
                "The identity provider sent no refresh token. Requested scopes: \(context.settings.scopes.joined(separator: " ")).\(granted) Add the scope offline_access, and allow the client \(client.id) the grant type refresh_token."
            )
        }
        self.init(
            Credential(
                value: refreshToken, scope: tokens.scope, clientSecret: client.secret,
                clientAuthenticationMethod: client.authenticationMethod, proofKey: tokens.dpopKey?.rawRepresentation),
            account: AccountID(issuer: context.settings.issuer, subject: idToken.subject), clientID: client.id,
            identity: .init(
                email: idToken.email, preferredUsername: idToken.preferredUsername, name: idToken.name,
                claimsJSON: idToken.claimsJSON),
            accessToken: AccessToken(
                value: tokens.accessToken, tokenType: tokens.tokenType, expiresAt: tokens.expiresAt,
                scope: tokens.scope, obtainedAt: context.clock.now),
            idToken: idToken.encoded)
    }
}
