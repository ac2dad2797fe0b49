public import OpenIDConnect
public import VaultStorage

/// Signs in at an OpenID provider with another device. The person types a short code there (RFC 8628).
public struct DeviceSignIn: SignIn {
    let show: @Sendable (DeviceAuthorization) async throws -> Void
    let parameters: SignInParameters

    /// - Parameters:
    ///   - parameters: the parameters of this sign-in. They replace those of the configuration. An empty text removes
    ///     one.
    ///   - show: shows the person the code and the place to type it. The wait begins after it returns.
    public init(
        parameters: SignInParameters = SignInParameters(),
        show: @escaping @Sendable (DeviceAuthorization) async throws -> Void
    ) {
        self.parameters = parameters
        self.show = show
    }

    /// Signs in on another device. ``AuthProtocol/signIn(_:)`` calls it, and throws each error below as a `VaultError`.
    ///
    /// - Returns: the login, with a verified ID token. It is not stored yet.
    /// - Throws: `OpenIDConnectError`: `denied`: the person refused. `deviceCodeExpired`: start again. `unsupported`:
    ///   use another way to sign in. `unavailable`, `timedOut`, `interrupted`: try again later. Other codes: see
    ///   `OpenIDConnectError`. Errors of the closure that shows the code.
    public func run(in context: SignInContext) async throws -> SignInResult {
        let client = try await context.client()
        let provider = context.provider(client)
        return try await context.using(client) {
            let device = try await provider.authorizeDevice(
                scopes: context.settings.scopes, parameters: parameters.over(context.settings.parameters))
            try await show(device)
            return try SignInResult(try await provider.redeem(device), client: client, in: context)
        }
    }
}
