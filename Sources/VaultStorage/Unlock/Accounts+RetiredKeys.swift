internal import Foundation
internal import KeyService

/// Keys that a change retired, with what each was the key of.
package struct JustRetired: Sendable {
    var kinds: [RetiredKey: Keyslot.Kind] = [:]
}

// A way in that is gone must be dead: its key at the key service is ended, or a copy of the store would open with it.
extension Accounts {
    /// For how long somebody waits for old keys to be ended.
    package static let patienceForOldKeys = Duration.seconds(5)

    /// Makes changes to an account, and puts the keys of the keyslots that go on the list of retired ones, all in one
    /// step. To be called under the account's lock; ``end(_:of:)`` comes after it.
    ///
    /// - Parameter current: the account as it is stored; nil when it cannot be read, and is to be removed all the same.
    func apply(_ changes: [StoreChange], to id: AccountID, retiringKeysOf current: Account?) async throws -> JustRetired
    {
        // One that a crash left, perhaps damaged. A copy of the store may hold it.
        let staged = try? await store.stagedKeyslot(of: id)
        var retired = JustRetired()
        func retire(_ keyID: String?, _ kind: Keyslot.Kind) {
            guard let current, let keyID, !keyID.isEmpty else { return }
            retired.kinds[RetiredKey(id: keyID, keyServiceURL: current.keyServiceURL)] = kind
        }
        for change in changes {
            switch change {
            case .removeKeyslot(let id):
                for slot in (current?.keyslots ?? []) + [staged].compactMap(\.self) where slot.id == id {
                    retire(slot.keyID, slot.kind)
                }
                for slot in current?.damagedKeyslots ?? [] where slot.id == id { retire(slot.keyID, slot.kind) }
            case .removeAccount:
                for slot in (current?.keyslots ?? []) + [staged].compactMap(\.self) { retire(slot.keyID, slot.kind) }
                for slot in current?.damagedKeyslots ?? [] { retire(slot.keyID, slot.kind) }
            case .stageKeyslot:
                if let staged { retire(staged.keyID, staged.kind) }
            default: break
            }
        }
        let list = retired.kinds.isEmpty ? [] : [RetiredKeys.adding(Array(retired.kinds.keys))]
        try await store.apply(list + changes, to: id)
        return retired
    }

    /// Ends keys that were just retired, and older ones at the same key service. What could not be ended is told.
    package func end(_ retired: JustRetired, of id: AccountID) async {
        guard !retired.kinds.isEmpty else { return }
        // In a task of its own: the change is made, and a caller that is cancelled now must not leave the keys alive.
        await Task {
            for url in Set(retired.kinds.keys.map(\.keyServiceURL)) {
                await endRetiredKeys(at: url)
                // A list that cannot be read says of no key that it was ended.
                let pending = try? await listedKeys(at: url)
                for (key, kind) in retired.kinds where key.keyServiceURL == url && pending?.contains(key) != false {
                    notices.send(.keyNotEnded(kind, of: id))
                }
            }
        }.value
    }

    /// Ends the keys at the key services that no way in needs any more and that could not be ended before.
    ///
    /// - Parameters:
    ///   - keyServiceURL: only those at this key service; nil for all.
    ///   - patience: for how long to try.
    /// - Returns: those that are still to be ended.
    @discardableResult
    package func endRetiredKeys(at keyServiceURL: String? = nil, within patience: Duration = patienceForOldKeys) async
        -> [RetiredKey]
    {
        let due = await retiredKeys(at: keyServiceURL)
        guard !due.isEmpty else { return [] }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                var silent: Set<String> = []
                for key in due where !silent.contains(key.keyServiceURL) && !Task.isCancelled {
                    if await !end(key) { silent.insert(key.keyServiceURL) }
                }
            }
            group.addTask { [timer] in try? await timer.sleep(for: patience) }
            await group.next()
            group.cancelAll()
        }
        return await retiredKeys(at: keyServiceURL)
    }

    /// The keys that are still to be ended.
    ///
    /// - Parameter keyServiceURL: only those at this key service; nil for all.
    package func retiredKeys(at keyServiceURL: String? = nil) async -> [RetiredKey] {
        (try? await listedKeys(at: keyServiceURL)) ?? []
    }

    /// As ``retiredKeys(at:)``.
    ///
    /// - Throws: ``StoreError``: `busy`, `unreadable`, `corrupt`.
    package func listedKeys(at keyServiceURL: String? = nil) async throws -> [RetiredKey] {
        try await RetiredKeys(store: store).all().filter { keyServiceURL == nil || $0.keyServiceURL == keyServiceURL }
    }

    /// - Returns: false when the key service does not answer.
    private func end(_ key: RetiredKey) async -> Bool {
        do {
            // Nothing that is on the list gets into a keyslot again, so what is found unused here stays so.
            if try await !store.usesKey(key.id) {
                try await keyService(key.keyServiceURL).endKey(id: key.id)
                FaultPoint.keyEnded.reach()
            }
            try await RetiredKeys(store: store).remove([key])
        } catch let error as KeyServiceError where error.code == .unavailable {
            return false
        } catch {}
        return true
    }

    /// Ends the key of a keyslot that was made for an account and is not to be added to it any more. It cannot be added
    /// afterwards. A keyslot that was added stays as it is.
    package func discard(_ slot: Keyslot, of account: Account) async {
        guard slot.needsKeyService else { return }
        history.spend(slot.keyID)
        // In a task of its own: the store does nothing for one that was cancelled, as the change may have been.
        await Task {
            let key = RetiredKey(id: slot.keyID, keyServiceURL: account.keyServiceURL)
            guard (try? await store.usesKey(slot.keyID)) == false,
                (try? await RetiredKeys(store: store).add([key])) != nil
            else { return }
            await endRetiredKeys(at: account.keyServiceURL)
        }.value
    }
}
