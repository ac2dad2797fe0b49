internal import Foundation
internal import OpenIDConnect
public import VaultAuth
internal import VaultBase
public import VaultCrypto
public import VaultStorage

/// A sign-in with an API token that the person made on the server's own pages.
///
/// The issuer of the settings is the server's address. The server is asked whose token it is. The account then has the
/// method `serverToken`, like after ``ServerSignIn`` with a password.
public struct APITokenSignIn: SignIn {
    let token: SharedSecret

    /// - Parameter token: the API token, as the person copied it. Blanks and line breaks around it do not count.
    public init(token: borrowing SecretBytes) throws {
        self.token = SharedSecret(try token.copy())
    }

    /// Signs in with the API token. `AuthProtocol.signIn(_:)` calls it, and gives each error below as a `VaultError`.
    ///
    /// - Returns: the login. It is not stored yet.
    /// - Throws: `VaultError`: `passwordUnusable`: nothing was sent, ask the person again. `wrongSecret`: the server
    ///   does not accept the token, ask the person again. `configurationInvalid`: correct the address or the layout of
    ///   the server. `storeCorrupt`: the stored layout is damaged, register again. `OpenIDConnectError`: `unavailable`,
    ///   `timedOut`, `interrupted`: try again later. `refused`, `invalidAnswer`: check the address and the layout.
    public func run(in context: SignInContext) async throws -> SignInResult {
        let server = try context.server()
        let token = try checked()
        let answer = TokenAnswer(JSONValue([("access_token", .string(token))]), sentAt: context.clock.now)
        do {
            // A 403 is about the token's rights, not about its validity.
            return try await server.signedIn(answer, clientID: "", method: .serverToken) { status, _ in
                status == 401 ? .wrongCredentials : nil
            }
        } catch let error as OpenIDConnectError where error.code == .wrongCredentials {
            throw VaultError(.wrongSecret, "The server does not accept this API token.", underlying: error)
        }
    }

    /// Returns the token as text for a header: printable ASCII without blanks (RFC 6750 section 2.1).
    private func checked() throws -> String {
        let text = token.bytes.utf8String()?.trimmingCharacters(in: .whitespacesAndNewlines)
        if text?.isEmpty == true { throw VaultError(.passwordUnusable, "The API token is empty.") }
        guard let text, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw VaultError(
                .passwordUnusable, "The API token has a character that no token has. Copy the whole token again.")
        }
        return text
    }
}
