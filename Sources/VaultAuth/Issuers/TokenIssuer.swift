public import OpenIDConnect
public import VaultStorage

/// The issuer of an account's tokens. It renews the tokens, checks them and revokes them.
///
/// A conformer must not keep or log its arguments. It must send nothing twice, because a refresh token may work only
/// once. It must not assume that the credential is the one that it returned last: other processes renew it, too. It
/// throws ``OpenIDConnectError``. Code `invalidGrant` means that the credential is certainly dead.
/// `mayHaveBeenProcessed` must be set unless the request was certainly not carried out.
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
    /// - Returns: the tokens. Only `accessToken`, its type, expiry and scope, and the ID token are used.
    func renew(
        _ credential: Credential, of id: AccountID, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet

    /// Revokes the credential for every program.
    func revoke(_ credential: Credential, of id: AccountID) async throws
}
