internal import Foundation
internal import KeyService

/// The keys that a change retired, with the kind of each keyslot.
package struct JustRetired: Sendable {
    var kinds: [RetiredKey: Keyslot.Kind] = [:]
}

// A removed way in must be dead. Its key at the key service is ended: otherwise a copy of the store would open with it.
extension Accounts {
    /// The longest wait for old keys to be ended.
    package static let patienceForOldKeys = Duration.seconds(5)

    /// Makes changes to an account and puts the keys of removed keyslots on the list of retired keys, in one step. Must
    /// be called under the account's lock. Call ``end(_:of:)`` after it.
    ///
    /// - Parameter current: the account as it is stored; nil if it cannot be read and is removed anyway.
    func apply(_ changes: [StoreChange], to id: AccountID, retiringKeysOf current: Account?) async throws -> JustRetired
    {
        // A keyslot that a crash left staged, perhaps damaged. A copy of the store may hold it.
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

    /// Ends keys that were just retired, and older ones at the same key service. A notice names the keys that could not
    /// be ended.
    package func end(_ retired: JustRetired, of id: AccountID) async {
        guard !retired.kinds.isEmpty else { return }
        // In a new task: the change is made, and a cancelled caller must not leave the keys alive.
        await Task {
            for url in Set(retired.kinds.keys.map(\.keyServiceURL)) {
                await endRetiredKeys(at: url)
                // If the list cannot be read, no key counts as ended.
                let pending = try? await listedKeys(at: url)
                for (key, kind) in retired.kinds where key.keyServiceURL == url && pending?.contains(key) != false {
                    notices.send(.keyNotEnded(kind, of: id))
                }
            }
        }.value
    }

    /// Ends retired keys that could not be ended before.
    ///
    /// - Parameters:
    ///   - keyServiceURL: the key service of the keys; nil for all.
    ///   - patience: the longest time to try.
    /// - Returns: the keys that are still to be ended.
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

    /// Returns the keys that are still to be ended.
    ///
    /// - Parameter keyServiceURL: the key service of the keys; nil for all.
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
            // A key on the list never gets into a keyslot again, so an unused key stays unused.
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

    /// Ends the key of a new keyslot that will not be added. It cannot be added afterwards. A keyslot that was already
    /// added stays as it is.
    package func discard(_ slot: Keyslot, of account: Account) async {
        guard slot.needsKeyService else { return }
        history.spend(slot.keyID)
        // In a new task: the store does nothing for a cancelled task, and the change may have been cancelled.
        await Task {
            let key = RetiredKey(id: slot.keyID, keyServiceURL: account.keyServiceURL)
            guard (try? await store.usesKey(slot.keyID)) == false,
                (try? await RetiredKeys(store: store).add([key])) != nil
            else { return }
            await endRetiredKeys(at: account.keyServiceURL)
        }.value
    }
}
