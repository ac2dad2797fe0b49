internal import KeyServiceClient
internal import VaultBase
internal import VaultStorage

// The confirmations of right guesses. A guess counts as wrong until the key service has its confirmation.
extension Accounts {
    /// Stores the confirmation of a guess with the note of use, before the session begins, and sends it beside the
    /// login.
    ///
    /// - Parameters:
    ///   - sealed: further changes that hold what the vault key sealed. They are left out if it was replaced meanwhile.
    func confirmOpening(
        _ opened: OpenedKeyslot, _ slot: Keyslot, of account: Account, noting more: [StoreChange],
        sealed: [StoreChange]
    ) async {
        let use = StoreChange.noteUse(ofKeyslot: slot.id, clock.now)
        @Sendable func note(_ changes: [StoreChange]) async throws {
            do {
                try await store.apply(changes + sealed, to: account.id, sealedUnder: opened.vaultKey)
            } catch let error as StoreError where error.code == .vaultKeyReplaced {
                try await store.apply(changes, to: account.id)
            }
        }
        guard let confirmation = opened.confirmation else {
            // An error of these notes must not stop the login.
            try? await note([use] + more)
            return
        }
        let guesses = OwnGuesses(store: store, account: account.id)
        do {
            let storing = opened.isConfirmationStored ? [] : [guesses.storing(confirmation, keeping: account.keyslots)]
            try await note([use] + storing + more)
            FaultPoint.confirmStored.reach()
            if let keys = try? keys(of: slot, account) {
                confirming.add(Task { await keys.sendConfirmations(of: account) })
            }
        } catch {
            // It cannot be stored, so it is sent before the session begins. The person gets in all the same.
            try? await keys(of: slot, account).confirm(confirmation)
        }
    }

    /// Waits until the confirmations of this process are sent, but not for longer than ``timeout``. The next login
    /// sends the rest.
    package func finishConfirming() async {
        if let task = claiming.task { confirming.add(task) }
        await confirming.finish(within: timeout, timer)
    }
}
