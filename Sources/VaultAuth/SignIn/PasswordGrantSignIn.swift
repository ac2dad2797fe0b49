internal import OpenIDConnect
public import VaultCrypto
public import VaultStorage

/// Signs in at an OpenID provider with user name and password (RFC 6749 section 4.3).
///
/// The password goes through this program, so it is for providers that offer nothing better, and has to be asked for.
public struct PasswordGrantSignIn: SignIn {
    let username: String
    let password: SharedSecret

    /// - Parameters:
    ///   - username: as the provider knows the person.
    ///   - password: the person's password at the provider, UTF-8.
    public init(username: String, password: borrowing SecretBytes) throws {
        self.username = username
        self.password = SharedSecret(try password.copy())
    }

    public func run(in context: SignInContext) async throws -> RefreshToken {
        let text = try PasswordInput.checked(username: username, password: password.bytes, minimumLength: 1)
        let client = try await context.client()
        let attempts = LoginAttempts(backend: context.settings.issuer, username: username, context: context)
        let tokens = try await attempts.charge {
            try await context.using(client) {
                try await context.provider(client).signIn(
                    username: username, password: text, scopes: context.settings.scopes)
            }
        }
        return try RefreshToken(tokens, client: client, in: context)
    }
}
