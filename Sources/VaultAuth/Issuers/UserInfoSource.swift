public import OpenIDConnect

/// An issuer that can be asked whose access token it is, as an OpenID provider's UserInfo endpoint can.
///
/// A conformer must ask the server each time, and must not assume that the token is one of its own.
public protocol UserInfoSource: TokenIssuer {
    /// Asks whose access token it is.
    ///
    /// - Throws: ``OpenIDConnectError``: `refused` with status 401 when the token is not taken.
    func userInfo(accessToken: String) async throws -> UserInfo
}
