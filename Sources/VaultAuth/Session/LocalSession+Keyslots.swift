internal import VaultBase
package import VaultCrypto
package import VaultStorage
package import VaultUnlock

extension LocalSession {
    package func reauthenticate(with method: UnlockMethod) async throws {
        try method.requireSecret()
        try await check(method)
        let now = accounts.steady.now()
        proofs.withLock { $0.noteSecret(at: now) }
    }

    /// Opens the account with a secret, and compares the vault key. Changes nothing in the session.
    ///
    /// - Throws: as ``Session/reauthenticate(with:)``.
    package func check(_ method: UnlockMethod) async throws {
        try await account.converting {
            let vaultKey = try account.vaultKey()
            guard try await accounts.open(accounts.account(id), with: method).isEqual(to: vaultKey) else {
                throw VaultError(
                    .storeCorrupt,
                    "This unlock method opens another vault key, so the store was changed earlier. This call changed nothing. Log in again with another unlock method."
                )
            }
        }
    }

    package func setPIN(_ pin: borrowing SecretBytes, skipsPINRule: Bool) async throws {
        try await account.converting {
            try await accounts.addPIN(
                pin, to: accounts.account(id), vaultKey: vaultKeyForNewKeyslot(), skipsPINRule: skipsPINRule)
        }
    }

    /// As ``Session/setPIN(_:skipsPINRule:)``, for a caller that has just checked a secret with ``check(_:)``, and the
    /// PIN.
    package func setPINAfterCheck(_ pin: borrowing SecretBytes) async throws {
        try await account.converting {
            try await accounts.addPIN(
                pin, to: accounts.account(id), vaultKey: vaultKeyWithToken(), skipsPINRule: true)
        }
    }

    package func vaultKeyForNewKeyslot() async throws -> VaultKey {
        _ = try account.vaultKey()
        let now = accounts.steady.now()
        guard proofs.withLock({ $0.hasSecret(at: now) }) else { throw VaultError.secretRequired }
        return try await vaultKeyWithToken()
    }

    /// Returns the vault key, after the store has a valid access token. Some key services take a new key only with one.
    private func vaultKeyWithToken() async throws -> VaultKey {
        if await accounts.listsKeys(of: id, account.presentKey) { _ = try? await account.session?.accessToken() }
        return try account.vaultKey()
    }

    // MARK: - A new vault key

    package func replaceVaultKey(keeping method: UnlockMethod) async throws -> VaultKeyReplacement {
        if await accounts.listsKeys(of: id, account.presentKey) { _ = try? await account.session?.accessToken() }
        return try await account.converting {
            try await replacingVaultKey { _ in
                try await accounts.replaceVaultKey(of: accounts.account(id), keeping: method)
            }
        }
    }

    package func replacingVaultKey(
        _ body: (_ old: VaultKey) async throws -> ReplacedVaultKey
    ) async throws -> VaultKeyReplacement {
        await finished(try await account.replacingVaultKey(body))
    }

    /// Renews the refresh token once, because somebody with the old vault key has the old token.
    func finished(_ replaced: ReplacedVaultKey) async -> VaultKeyReplacement {
        let old = try? await refreshToken().credential.value
        var failure: VaultError?
        do {
            let token = try await account.session?.accessToken(forceRefresh: true)
            if let token, let oldKey = replaced.oldKey {
                await accounts.resealDeviceNames(of: id, token, from: oldKey, to: replaced.vaultKey)
            }
        } catch {
            failure = VaultError.converting(error) as? VaultError
        }
        let new = try? await refreshToken().credential.value
        return VaultKeyReplacement(
            endedKeyslots: replaced.endedKeyslots.map(KeyslotSummary.init(ended:)),
            isOldTokenReplaced: new != nil && new != old,
            tokenError: failure)
    }
}
