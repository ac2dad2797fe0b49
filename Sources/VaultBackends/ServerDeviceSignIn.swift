public import OpenIDConnect
public import VaultAuth
public import VaultStorage

/// A sign-in at a server that announces its abilities, with another device. The person types a short code there
/// (RFC 8628).
///
/// The issuer of the settings is the server's address. Without a client id, a client is registered for this sign-in.
public struct ServerDeviceSignIn: SignIn {
    let show: @Sendable (DeviceAuthorization) async throws -> Void

    /// - Parameter show: shows the person the code and the place to type it. The wait begins after it returns.
    public init(show: @escaping @Sendable (DeviceAuthorization) async throws -> Void) {
        self.show = show
    }

    /// Signs in on another device. `AuthProtocol.signIn(_:)` calls it, and gives each error below as a `VaultError`.
    ///
    /// - Returns: the login. It is not stored yet.
    /// - Throws: `OpenIDConnectError`: `denied`: the person said no. `deviceCodeExpired`: start again. `unsupported`:
    ///   the server has no OAuth or no codes for devices, use another way to sign in. `unavailable`, `timedOut`,
    ///   `interrupted`: try again later. Other codes: see `OpenIDConnectError`. `VaultError`: `configurationInvalid`
    ///   when the address, the client or the layout cannot be used. `storeCorrupt`: the stored layout is damaged,
    ///   register again. Errors of the closure that shows the code.
    public func run(in context: SignInContext) async throws -> SignInResult {
        let server = try context.server()
        guard try await server.information()?.hasOAuth == true else {
            throw OpenIDConnectError(.unsupported, "OAuth")
        }
        let login: LoginClient
        if let configured = try context.configuredClient() {
            login = configured
        } else {
            // Some servers register no client without a redirect URI, even if it has no use.
            login = try await server.register(
                context.settings.clientName, redirectURI: "http://127.0.0.1/callback",
                grantTypes: [DeviceAuthorization.grantType])
        }
        let client = server.client(id: login.id, secret: login.secret)
        let scopes = server.scopes(over: context.settings.scopes).joined(separator: " ")
        let device = try await client.authorizeDevice([("scope", scopes)], at: server, dpopKey: nil)
        try await show(device)
        let tokens = try await client.redeem(device, clock: ContinuousClock())
        return try await server.signedIn(
            try tokens.usable(), clientID: login.id, clientSecret: login.secret, method: .serverOAuth)
    }
}
