/// An issuer that wants to know when a person logs out on this machine, though the stored credential stays.
///
/// A conformer must not revoke the credential, and must not assume that it hears of every logout: the machine may be
/// offline.
public protocol LogoutListener: TokenIssuer {
    /// Whether the issuer is to be told at all. False costs nothing: no access token is asked for.
    var wantsLogout: Bool { get }

    /// Tells the issuer.
    ///
    /// - Parameter accessToken: the person's, which still works.
    func loggedOut(accessToken: String) async throws
}
