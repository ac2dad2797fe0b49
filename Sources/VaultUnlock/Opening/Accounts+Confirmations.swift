internal import KeyServiceClient
internal import VaultBase
internal import VaultHTTP
internal import VaultStorage

// The confirmations of right tries. A try counts as a guess until the key service has its confirmation.
extension Accounts {
    /// Stores the confirmation of a try with the note of use, before the session begins, and sends it beside the login.
    ///
    /// - Parameters:
    ///   - more: further changes in the same step.
    ///   - sealed: further changes that hold what the vault key sealed. They are left out if it was replaced meanwhile.
    func settle(
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
        let tries = OwnTries(store: store, account: account.id)
        do {
            let storing = opened.isConfirmationStored ? [] : [tries.storing(confirmation, keeping: account.keyslots)]
            try await note([use] + storing + more)
            FaultPoint.confirmStored.reach()
            confirming.add(Task { await sendConfirmations(of: account) })
        } catch {
            // It cannot be stored, so it is sent before the session begins. The person gets in all the same.
            try? await oblivious(account).client.confirm(confirmation)
        }
    }

    /// Sends the confirmations that the service does not have yet.
    func sendConfirmations(of account: Account) async {
        let tries = OwnTries(store: store, account: account.id)
        guard let waiting = try? await tries.waiting(), !waiting.isEmpty,
            var client = try? oblivious(account).client
        else { return }
        // What is not answered now is sent at the next login.
        client.repeats = 0
        for confirmation in waiting {
            do {
                try await client.confirm(confirmation)
                FaultPoint.confirmSent.reach()
                try await tries.noteSent([confirmation])
            } catch let error as KeyServiceError
                where [.noSuchKey, .keyEnded, .keyRevoked, .keyDestroyed].contains(error.code)
            {
                // Anybody between here and the service can say so. The next login finds out.
                try? await tries.noteSent([confirmation])
            } catch let error as KeyServiceError where error.code == .invalidAnswer {
                // Perhaps a gateway answered instead of the service. The confirmation is good later, too.
                continue
            } catch {
                return
            }
        }
    }

    /// As ``sendConfirmations(of:)``, but does not wait for longer than ``patience``.
    func sendConfirmationsInTime(of account: Account) async {
        let sending = ConfirmingTasks()
        sending.add(Task { await sendConfirmations(of: account) })
        await sending.finish(within: patience, timer)
    }

    /// Waits until the confirmations of this process are sent, but not for longer than ``patience``. The next login sends
    /// the rest.
    package func finishConfirming() async {
        if let task = claiming.task { confirming.add(task) }
        await confirming.finish(within: patience, timer)
    }

    /// Sends all confirmations of a locked key again. Perhaps the tries that lock it are this store's own ones: a
    /// confirmation was lost, or somebody sent recorded tries again.
    ///
    /// - Returns: whether a confirmation arrived, and whether one got no answer. Then nobody knows whether the key stays
    ///   locked.
    func closeTries(
        at slot: Keyslot, of account: Account, _ client: ObliviousClient
    ) async -> (isClosed: Bool, isLost: Bool) {
        let tries = OwnTries(store: store, account: account.id)
        await sendConfirmations(of: account)
        var isClosed = false
        var isLost = (try? await tries.waiting())?.contains { $0.id == slot.keyID } ?? false
        for confirmation in (try? await tries.sent(of: slot.keyID)) ?? [] {
            do {
                try await client.confirm(confirmation)
                isClosed = true
            } catch let error as KeyServiceError
                where [.noSuchKey, .keyEnded, .keyRevoked, .keyDestroyed].contains(error.code)
            {
                continue
            } catch {
                isLost = true
            }
        }
        return (isClosed, isLost)
    }
}

/// The tasks of one process that send confirmations.
final class ConfirmingTasks: Sendable {
    private let tasks = Lock<[Task<Void, Never>]>([])

    func add(_ task: Task<Void, Never>) {
        tasks.withLock { $0.append(task) }
    }

    func finish(within patience: Duration, _ timer: any Clock<Duration>) async {
        let waiting = tasks.withLock { tasks in
            defer { tasks = [] }
            return tasks
        }
        guard !waiting.isEmpty else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for task in waiting {
                    await withTaskCancellationHandler {
                        await task.value
                    } onCancel: {
                        task.cancel()
                    }
                }
            }
            group.addTask { try? await timer.sleep(for: patience) }
            await group.next()
            group.cancelAll()
        }
    }
}
