internal import KeyServiceClient
internal import Logging
internal import VaultBase
internal import VaultCrypto
package import VaultStorage

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

/// The tasks of one process that send confirmations.
final class ConfirmingTasks: Sendable {
    private let tasks = Lock<[Task<Void, Never>]>([])

    func add(_ task: Task<Void, Never>) {
        tasks.withLock { $0.append(task) }
    }

    func finish(within timeout: Duration, _ timer: any Clock<Duration>) async {
        let waiting = tasks.withLock { tasks in
            defer { tasks = [] }
            return tasks
        }
        guard !waiting.isEmpty else { return }
        await VaultBase.within(timeout, timer) {
            for task in waiting {
                await withTaskCancellationHandler {
                    await task.value
                } onCancel: {
                    task.cancel()
                }
            }
        }
    }
}

// The record of the public id of an account's vault key, as far as it takes more than the store.
extension Accounts {
    /// Corrects a record that names another vault key than the one that just opened the account. Nothing authenticates
    /// the record, so somebody may have changed it.
    ///
    /// - Parameter slot: the keyslot that a person opened. It must still be stored, and the key must open the claims.
    func correctVaultKeyRecord(_ vaultKey: VaultKey, _ slot: Keyslot, of account: Account) async {
        let record = VaultKeyRecord(store: store, account: account.id)
        do {
            try await record.require(vaultKey)
        } catch let error as StoreError where error.code == .vaultKeyReplaced {
            try? await withLock(on: account.id) { _ in
                let current = try await current(account)
                let items = TokenItems(store: store, id: account.id, vaultKey: vaultKey)
                guard current.keyslots.contains(where: { $0.id == slot.id }), try await items.claims() != nil else {
                    return
                }
                try await store.apply([record.noting(vaultKey)], to: account.id)
            }
        } catch {
            // The store cannot be read now. Each write checks the record again.
        }
    }

    /// Returns the true reason of an error: what another vault key sealed is not damaged.
    package func explained(_ error: any Error, _ vaultKey: VaultKey, of id: AccountID) async -> any Error {
        let error = VaultError.converting(error)
        guard (error as? VaultError)?.code == .storeCorrupt else { return error }
        do {
            try await VaultKeyRecord(store: store, account: id).require(vaultKey)
            // The agent checks its own key when it opens something.
            if vaultKey.bytes == nil { _ = try await TokenItems(store: store, id: id, vaultKey: vaultKey).claims() }
            return error
        } catch let reason as StoreError where reason.code == .vaultKeyReplaced {
            return VaultError.converting(reason)
        } catch let reason as VaultError where reason.code == .notLoggedIn {
            return reason
        } catch {
            return VaultError.converting(error)
        }
    }
}

extension Accounts {
    /// The changes that store the chosen claims for the list of accounts; empty if no app chose any.
    package func changesToShow(_ claimsJSON: [UInt8]) -> [StoreChange] {
        displayClaims.map { [.putDisplayClaims(Self.shown($0, of: claimsJSON))] } ?? []
    }

    /// Writes the chosen claims of an opened account if they changed. It never fails, so that the person still gets in.
    func showClaims(of account: Account, vaultKey: VaultKey) async {
        guard let displayClaims,
            let claims = try? await TokenItems(store: store, id: account.id, vaultKey: vaultKey).claims()
        else { return }
        let shown = Self.shown(displayClaims, of: claims)
        if shown != account.displayClaims { try? await store.apply([.putDisplayClaims(shown)], to: account.id) }
    }

    /// The named claims as text. A claim that is not text, a number or a truth value is left out.
    private static func shown(_ names: [String], of claimsJSON: [UInt8]) -> [String: String] {
        let claims = JSONValue(objectIn: claimsJSON)
        return names.reduce(into: [:]) { shown, name in
            guard let claim = claims?[name] else { return }
            shown[name] =
                claim.string ?? claim.exactInteger ?? claim.bool.map { "\($0)" } ?? claim.number.map { "\($0)" }
        }
    }
}

// A thief who has the disk can try the secret of an unlock method without the network as often as he likes. So an
// unlock method that the machine's policy forbids does not stay on the disk.
extension Accounts {
    /// Removes the unlock methods without the network that the machine's policy forbids. A notice tells of each. An
    /// app's own policy removes nothing, because other programs use the same account. An error of the store keeps
    /// nobody out: the next login tries again.
    ///
    /// - Parameter account: an account that an unlock method with the network has just opened, so one stays.
    func removeForbiddenOfflineKeyslots(of account: Account) async {
        guard let policy = obeyed.latest.machine else { return }
        @Sendable func isForbidden(_ slot: Keyslot) -> Bool { !slot.needsKeyService && !policy.allows(slot) }
        guard account.keyslots.contains(where: isForbidden) else { return }
        // In a new task: the login is done, and a cancelled caller must not leave them.
        let removed = await Task {
            try? await withLock(on: account.id) { _ in
                let now = try await current(account)
                let forbidden = now.keyslots.filter(isForbidden)
                _ = try await apply(
                    forbidden.map { .removeKeyslot(id: $0.id) }, to: account.id, retiringKeysOf: now)
                return forbidden
            }
        }.value
        for slot in removed ?? [] {
            history.noteRemoved(slot.id)
            logger.notice(
                "removed an unlock method without the network: the machine's policy forbids it",
                metadata: account.id.logMetadata.merging(["unlockMethod": .string(slot.kind.rawValue)]) { $1 })
            notices.send(.keyslotRemoved(slot.kind, of: account.id))
        }
    }
}
