internal import CredentialVault

extension Session {
    /// A valid access token. When the provider renewed the tokens and they cannot be stored, it tries again for half a
    /// minute: with the end of the command they would be lost.
    func patientAccessToken(
        forceRefresh: Bool, minimumValidity: Duration = .seconds(60)
    ) async throws -> AccessToken {
        do {
            return try await accessToken(forceRefresh: forceRefresh, minimumValidity: minimumValidity)
        } catch let error as VaultError where await holdsUnstoredToken {
            Output.note("vault: \(error.description)")
        }
        for pause in [1, 2, 4, 8, 15] {
            Output.note("vault: trying again in \(pause) seconds; make room or end what holds the store")
            try await Task.sleep(for: .seconds(pause))
            do {
                // The token that is waiting to be stored is new: nothing needs to be forced any more.
                return try await accessToken(minimumValidity: minimumValidity)
            } catch let error as VaultError where await holdsUnstoredToken {
                Output.note("vault: \(error.description)")
            }
        }
        throw VaultError(
            .storeUnreadable,
            "The renewed token could not be stored. If the identity provider does not take the old one any more, register again."
        )
    }
}
