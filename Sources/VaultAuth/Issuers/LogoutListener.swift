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
