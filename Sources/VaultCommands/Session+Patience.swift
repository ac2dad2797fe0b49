internal import CredentialVault

extension Session {
    /// A valid access token. When the provider renewed the tokens and they cannot be stored, it tries again for half a
    /// minute: with the end of the command they would be lost.
    func patientAccessToken(
        forceRefresh: Bool, minimumValidity: Duration = .seconds(60)
    ) async throws -> AccessToken {
        try await patiently {
            try await accessToken(forceRefresh: forceRefresh, minimumValidity: minimumValidity)
        }
    }

    /// Runs `body` again for half a minute while a renewed token cannot be stored.
    func patiently<R: Sendable>(_ body: @Sendable () async throws -> R) async throws -> R {
        for pause in [1, 2, 4, 8, 15] {
            do {
                return try await body()
            } catch let error as VaultError {
                guard holdsUnstoredToken, [.storeUnreadable, .busy].contains(error.code) else { throw error }
                Output.note("vault: \(error.description)")
                Output.note("vault: trying again in \(pause) seconds; make room, or end what holds the store")
                try await Task.sleep(for: .seconds(pause))
            }
        }
        return try await body()
    }
}
