internal import CredentialVault

extension Session {
    /// Returns a valid access token. If renewed tokens cannot be stored, tries again for half a minute: they would be
    /// lost when the command ends.
    func retryingAccessToken(
        forceRefresh: Bool, minimumValidity: Duration = .seconds(60)
    ) async throws -> AccessToken {
        try await retrying {
            try await accessToken(forceRefresh: forceRefresh, minimumValidity: minimumValidity)
        }
    }

    /// Runs `body` again for half a minute while a renewed token cannot be stored.
    func retrying<R: Sendable>(_ body: @Sendable () async throws -> R) async throws -> R {
        for pause in [1, 2, 4, 8, 15] {
            do {
                return try await body()
            } catch let error as VaultError {
                guard holdsUnstoredToken, [.storeUnreadable, .busy].contains(error.code) else { throw error }
                Output.note("vault: \(error.text)")
                let time = pause == 1 ? "1 second" : "\(pause) seconds"
                Output.note(
                    "vault: trying again in \(time). Free disk space, or end the program that uses the store.")
                try await Task.sleep(for: .seconds(pause))
            }
        }
        return try await body()
    }
}

extension Vault {
    /// Renews the access token of an opened account if its next new key goes on the list of devices: the list needs a
    /// valid token. Without one, a later login lists the key.
    ///
    /// - Throws: ``VaultError`` if renewed tokens cannot be stored. Any other failure only delays the list.
    func renewTokenForList(of id: AccountID, _ vaultKey: VaultKey) async throws {
        guard let accounts = try? accounts, await accounts.listsKeys(of: id, vaultKey),
            let session = try? await ownAuth.adopt(id, vaultKey: vaultKey, contact: .confirmed, hasSecret: true)
        else { return }
        do {
            _ = try await session.retryingAccessToken(forceRefresh: false)
        } catch {
            // The tokens would be lost when the command ends.
            if await session.holdsUnstoredToken { throw error }
        }
    }
}
