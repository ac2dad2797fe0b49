internal import OpenIDConnect
public import VaultCrypto
public import VaultStorage

/// Signs in at an OpenID provider with user name and password (RFC 6749 section 4.3).
///
/// The password passes through this program. Use it only for providers that offer no other way.
public struct PasswordGrantSignIn: SignIn {
    let username: String
    let password: SharedSecret

    /// - Parameters:
    ///   - username: the person's user name at the provider.
    ///   - password: the person's password at the provider, UTF-8.
    public init(username: String, password: borrowing SecretBytes) throws {
        self.username = username
        self.password = SharedSecret(try password.copy())
    }

    /// Signs in with user name and password (RFC 6749 section 4.3). ``AuthProtocol/signIn(_:)`` calls it, and throws
    /// each error below as a `VaultError`.
    ///
    /// - Returns: the login, with a verified ID token. It is not stored yet.
    /// - Throws: `VaultError`: `passwordUnusable`: nothing was sent, ask the person again. `wrongSecret`: ask the
    ///   person again. `tooManyAttempts`: nothing was sent, wait for `VaultError.retryAfter`. `OpenIDConnectError`:
    ///   `refused`: the provider does not offer this, use another way to sign in. `unavailable`, `timedOut`,
    ///   `interrupted`: try again later. Other codes: see `OpenIDConnectError`.
    public func run(in context: SignInContext) async throws -> SignInResult {
        let text = try PasswordInput.checked(username: username, password: password.bytes, minimumLength: 1)
        let client = try await context.client()
        let attempts = LoginAttempts(backend: context.settings.issuer, username: username, context: context)
        let tokens = try await attempts.charge {
            try await context.using(client) {
                try await context.provider(client).signIn(
                    username: username, password: text, scopes: context.settings.scopes)
            }
        }
        return try SignInResult(tokens, client: client, in: context)
    }
}
