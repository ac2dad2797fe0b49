public import OpenIDConnect
public import VaultStorage

/// What issued an account's tokens: it renews them, finds out whether they still count, and revokes them.
///
/// A conformer must not keep or log what it is given, must send nothing twice (a refresh token may count only once), and
/// must not assume that the credential is the one it handed out last: other processes renew, too. It throws
/// ``OpenIDConnectError``: `invalidGrant` only when the credential is certainly dead, and `mayHaveBeenProcessed` unless
/// it is certain that nothing was carried out.
public protocol TokenIssuer: Sendable {
    /// Fetches what a later call needs, ignoring failures: it is called while something else takes its time.
    func warmUp() async

    /// Exchanges the credential for an access token. Where the access token is the credential, it asks whether it counts.
    ///
    /// - Parameters:
    ///   - credential: the credential that is stored now.
    ///   - id: who must still be meant.
    ///   - keep: makes the credential that counts from now on durable, also when it is the same. It has to be called as
    ///     soon as there is an answer, before anything that may fail or take time. What it throws ends the call.
    /// - Returns: the tokens. Only `accessToken`, its type, expiry and scope, and the ID token matter.
    func renew(
        _ credential: Credential, of id: AccountID, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet

    /// Makes the credential worthless for everybody.
    func revoke(_ credential: Credential, of id: AccountID) async throws
}
