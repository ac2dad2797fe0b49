import CredentialVault
import VaultTesting

@testable import VaultAuth
@testable import VaultStorage
@testable import VaultUnlock

// What the person finds when all programs are done.
extension VaultKeyWorld {
    func judge(_ run: Run) async {
        do {
            try await judgeKeys(run, isLogged: false)
            // New keys that got no keyslot count as old from now on.
            clock.advance(by: 700)
            let vaultKey = try await judgeKeyslots(run)
            try await judgeItems(run, vaultKey)
            try await judgeKeys(run, isLogged: true)
        } catch {
            run.complain("In the end: \(error)")
        }
    }

    /// Checks that the kept way is there, that all ways open the same vault key, and that the stored token works.
    private func judgeKeyslots(_ run: Run) async throws -> VaultKey {
        let program = PersonsProgram(self, nil, store)
        let kinds = try await program.accounts.account(id).keyslots.map(\.kind)
        if !kinds.contains(keptMethod) { run.complain("The unlock methods are \(kinds), without the \(keptMethod).") }
        var opened: VaultKey?
        for kind in kinds {
            let session = try await program.auth.unlock(id, with: program.method(kind))
            let vaultKey = try await session.openVaultKey()
            if let opened, try await !opened.isEqual(to: vaultKey) { run.complain("The \(kind) opens another key.") }
            opened = vaultKey
            if kind == kinds.first { await judgeToken(run, session) }
        }
        await program.accounts.finishConfirming()
        await program.end()
        guard let opened else { throw StoreError(.corrupt, "No unlock method is left.") }
        return opened
    }

    private func judgeToken(_ run: Run, _ session: Session) async {
        do {
            _ = try await session.accessToken(forceRefresh: true)
        } catch let error as VaultError where error.code == .refreshInterrupted && hasLostToken {
            // The person is told to register again, because no program has the token.
        } catch {
            run.complain("The stored token: \(error)")
        }
    }

    /// Each item is whole, is sealed under the vault key, and does not open with an older one.
    private func judgeItems(_ run: Run, _ vaultKey: VaultKey) async throws {
        let names = try await store.itemNames(of: id)
        for (name, history) in items where await !history.possible.contains(content(name, vaultKey)) {
            run.complain("\(name) is not whole: \(history.possible.count) contents are possible.")
        }
        for name in names where await content(name, vaultKey) == nil {
            run.complain("\(name) does not open.")
        }
        for old in keys where try await !old.isEqual(to: vaultKey) {
            for name in names where await content(name, old) != nil {
                run.complain("\(name) opens with an old vault key.")
            }
        }
    }

    private func content(_ name: ItemName, _ vaultKey: VaultKey) async -> [UInt8]? {
        do {
            guard let item = try await ItemContents(store: store, id: id, vaultKey: vaultKey).item(name) else {
                return nil
            }
            var bytes: [UInt8] = []
            for try await piece in item.content { bytes += piece }
            return bytes
        } catch {
            return nil
        }
    }

    /// - Parameter isLogged: whether the person has just logged in, which ends all old keys.
    private func judgeKeys(_ run: Run, isLogged: Bool) async throws {
        let slots = try await store.account(id)?.keyslots ?? []
        let staged = try await store.stagedKeyslot(of: id)
        let retired = try await RetiredKeys(store: store).all()
        let used = Set(slots.map(\.keyID))
        let named = used.union([staged?.keyID].compactMap(\.self)).union(retired.map(\.id))
        if isLogged, claimsKeys { service.endUnclaimedKeys() }
        let open = service.liveKeys
        if !open.isSubset(of: named) { run.complain("The key service has a key that nobody knows.") }
        if !used.isSubset(of: open) { run.complain("An unlock method has no key.") }
        guard isLogged else { return }
        if open != used || !retired.isEmpty || staged != nil {
            run.complain(
                "\(open.count) keys are open for \(used.count) unlock methods, and \(retired.count) wait for their end."
            )
        }
    }
}
