public import OpenIDConnect

/// An issuer that can tell the owner of an access token, like an OpenID provider's UserInfo endpoint.
///
/// A conformer must ask the server each time, and must not assume that the token is one of its own.
public protocol UserInfoSource: TokenIssuer {
    /// Asks for the owner of an access token.
    ///
    /// - Throws: ``OpenIDConnectError`` with code `refused` and status 401 if the token is not valid.
    func userInfo(accessToken: String) async throws -> UserInfo
}
