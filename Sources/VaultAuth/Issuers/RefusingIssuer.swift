package import OpenIDConnect
package import VaultStorage

/// An issuer that always refuses, used if the real one cannot work. It sends nothing: an answer that nobody can read
/// would cost the account its token.
package struct RefusingIssuer: UserInfoSource {
    package let error: VaultError

    package init(error: VaultError) {
        self.error = error
    }

    package func warmUp() async {}

    package func renew(
        _ credential: Credential, of id: AccountID, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet { throw error }

    package func revoke(_ credential: Credential, of id: AccountID) async throws { throw error }

    package func userInfo(accessToken: String) async throws -> UserInfo { throw error }
}
