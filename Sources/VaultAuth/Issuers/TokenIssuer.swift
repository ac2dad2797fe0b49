public import OpenIDConnect
public import VaultStorage

/// The issuer of an account's tokens. It renews the tokens, checks them and revokes them.
///
/// A conformer must not keep or log its arguments. It must send nothing twice, because a refresh token may work only
/// once. It must not assume that the credential is the one that it returned last: other processes renew it, too. It
/// throws ``OpenIDConnectError``. Code `invalidGrant` means that the server refuses the credential. With `providerError`
/// `invalid_grant`, the server itself said that the credential has ended. The account then keeps the time of the
/// refusal, and no longer asks for a secret. `mayHaveBeenProcessed` must be set unless the request was certainly not
/// carried out.
public protocol TokenIssuer: Sendable {
    /// Fetches the metadata for a later call, while other work runs. Ignores failures.
    func warmUp() async

    /// Exchanges the credential for an access token. If the access token is the credential, asks whether it is still
    /// valid.
    ///
    /// - Parameters:
    ///   - credential: the credential that is stored now.
    ///   - id: the account that the credential must still belong to.
    ///   - keep: stores the valid credential durably, also if it has not changed. Call it as soon as there is an
    ///     answer, before anything that may fail or take time. If it throws, the call ends.
    /// - Returns: the tokens. Only `accessToken`, its type, expiry and scope, the ID token and `userInfo` are used. The
    ///   ID token or `userInfo` updates the account's e-mail address and names.
    func renew(
        _ credential: Credential, of id: AccountID, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet

    /// Revokes the credential for every program.
    func revoke(_ credential: Credential, of id: AccountID) async throws
}

/// An issuer that can make an access token for one service alone (RFC 8707).
///
/// A conformer must obey what ``TokenIssuer`` says of renewals. It may ignore the audience, because callers check the
/// token.
public protocol AudienceIssuer: TokenIssuer {
    /// Exchanges the credential as ``TokenIssuer/renew(_:of:keep:)``, for an access token with this audience.
    ///
    /// - Throws: also ``OpenIDConnectError`` with code `refused`, and the provider's error `invalid_target`, if the issuer
    ///   makes no token for this audience.
    func renew(
        _ credential: Credential, of id: AccountID, audience: String, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet
}

/// An issuer that revokes a credential only for a request with an access token of the same login.
///
/// A conformer must obey what ``TokenIssuer`` says of requests. It must not renew the credential by itself, because only
/// its caller can store the new one. It must not assume that the access token is still good.
public protocol BearerRevoker: TokenIssuer {
    /// Revokes the credential for every program.
    ///
    /// - Parameters:
    ///   - credential: the newest credential of the login.
    ///   - id: the account that the credential belongs to.
    ///   - accessToken: an access token of the same login.
    /// - Throws: also ``OpenIDConnectError`` with code `refused` and status 401 if the access token has ended. The
    ///   caller then renews it, and calls again.
    func revoke(_ credential: Credential, of id: AccountID, accessToken: String) async throws
}

/// An issuer that can tell the owner of an access token, like an OpenID provider's UserInfo endpoint.
///
/// A conformer must ask the server each time, and must not assume that the token is one of its own.
public protocol UserInfoSource: TokenIssuer {
    /// Asks for the owner of an access token.
    ///
    /// - Throws: ``OpenIDConnectError`` with code `refused` and status 401 if the token is not valid.
    func userInfo(accessToken: String) async throws -> UserInfo
}

/// An issuer that wants to know of a logout on this machine, even though the stored credential stays.
///
/// A conformer must not revoke the credential. It must not assume that it gets every logout: the machine may be
/// offline.
public protocol LogoutListener: TokenIssuer {
    /// Whether the issuer wants to be told. If false, no access token is requested.
    var wantsLogout: Bool { get }

    /// Tells the issuer of the logout.
    ///
    /// - Parameter accessToken: the person's access token, which still works.
    func loggedOut(accessToken: String) async throws
}

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
