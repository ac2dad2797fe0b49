internal import Foundation
internal import KeyServiceClient
internal import VaultBase
package import VaultStorage

/// The keys that a change retired, with the kind of each keyslot.
package struct JustRetired: Sendable {
    var kinds: [RetiredKey: Keyslot.Kind] = [:]
    /// The keys that no command here can end any more: the account is gone, and its vault key was not there.
    var lost: [RetiredKey: Keyslot.Kind] = [:]
    /// Whether the change deleted the account.
    var isAccountGone = false
}

// A removed unlock method must open nothing. So its key at the key service ends: otherwise an old store would open
// with it.
extension Accounts {
    /// Makes changes to an account and puts the keys of removed keyslots on the list of retired keys, in one step. Must
    /// be called under the account's lock. Call ``end(_:of:)`` after it.
    ///
    /// A new keyslot of protocol version 2 takes its key off that list in the same step.
    ///
    /// - Parameters:
    ///   - current: the account as it is stored; nil if it cannot be read and is removed anyway.
    ///   - vaultKey: the account's vault key, if it is at hand. It opens the signatures that end keys.
    ///   - new: the account to be stored, if it is another one than `current`.
    func apply(
        _ changes: [StoreChange], to id: AccountID, retiringKeysOf current: Account?, _ vaultKey: VaultKey? = nil,
        for new: Account? = nil
    ) async throws -> JustRetired {
        // A keyslot that a crash left staged, perhaps damaged. A copy of the store may hold it.
        let staged: Keyslot?
        do {
            staged = try await store.stagedKeyslot(of: id)
        } catch {
            // A keyslot that becomes active takes its key off the list. So it must be known.
            if changes.contains(where: { if case .activateKeyslot = $0 { true } else { false } }) { throw error }
            staged = nil
        }
        var retired = JustRetired()
        // In an account without a key service, only a move that was interrupted leaves a key, at the service of the
        // settings.
        let current = current.map { $0.hasKeyService ? $0 : $0.moved(to: keyServiceURL) }
        func retire(_ keyID: String?, _ version: Int?, _ kind: Keyslot.Kind, _ signature: [UInt8]) {
            guard let current, current.hasKeyService, let keyID, !keyID.isEmpty else { return }
            retired.kinds[RetiredKey(id: keyID, of: current, kind, version: version, signature)] = kind
        }
        var (taken, added): ([RetiredKey], [String]) = ([], [])
        func take(_ slot: Keyslot?) {
            guard let slot, slot.isOPRF, let url = (new ?? current)?.keyServiceURL else { return }
            taken.append(RetiredKey(id: slot.keyID, keyServiceURL: url))
        }
        for change in changes {
            switch change {
            case .removeKeyslot(let id):
                for slot in (current?.keyslots ?? []) + [staged].compactMap(\.self) where slot.id == id {
                    retire(slot.keyID, slot.keyServiceProtocol, slot.kind, slot.endSignature)
                }
                for slot in current?.damagedKeyslots ?? [] where slot.id == id {
                    retire(slot.keyID, slot.readableProtocol, slot.kind, slot.endSignature)
                }
            case .removeAccount:
                for slot in (current?.keyslots ?? []) + [staged].compactMap(\.self) {
                    retire(slot.keyID, slot.keyServiceProtocol, slot.kind, slot.endSignature)
                }
                for slot in current?.damagedKeyslots ?? [] {
                    retire(slot.keyID, slot.readableProtocol, slot.kind, slot.endSignature)
                }
            case .stageKeyslot(let slot):
                if let staged { retire(staged.keyID, staged.keyServiceProtocol, staged.kind, staged.endSignature) }
                added.append(slot.keyID)
            case .putKeyslot(let slot):
                take(slot)
                added.append(slot.keyID)
            case .activateKeyslot: take(staged)
            default: break
            }
        }
        let isRemoved = changes.contains { if case .removeAccount = $0 { true } else { false } }
        // A new registration replaces the account.
        retired.isAccountGone = isRemoved && !changes.contains { if case .putAccount = $0 { true } else { false } }
        if isRemoved {
            // Keys of unlock methods that were removed earlier: only the account's vault key opens their signatures. A
            // key that these changes give to a keyslot stays.
            for key in (try? await listedKeys()) ?? []
            where key.lacksSignature && key.account == id && !taken.contains(key) {
                retired.kinds[key] = key.kind
            }
        }
        for (key, kind) in retired.kinds {
            let opened = await unsealed(key, vaultKey)
            retired.kinds[key] = nil
            if opened.lacksSignature && isRemoved {
                retired.lost[opened] = kind
            } else {
                retired.kinds[opened] = kind
            }
        }
        let list =
            (retired.kinds.isEmpty ? [] : [RetiredKeys.adding(Array(retired.kinds.keys))])
            + (retired.lost.isEmpty ? [] : [RetiredKeys.dropping(Set(retired.lost.keys))])
        let claims = newClaims.take(added)
        let noted = claims.isEmpty ? [] : [DeviceRecord(store: store, account: id).adding(claims)]
        try await store.apply(list + taken.map(RetiredKeys.taking) + changes + noted, to: id)
        return retired
    }

    /// Ends keys that were just retired, and older ones at the same key service. A notice names the keys that could not
    /// be ended.
    package func end(_ retired: JustRetired, of id: AccountID) async {
        let isGone = retired.isAccountGone
        for (key, kind) in retired.lost {
            notices.send(.keyNotEnded(kind, key.id, of: id, .never, isAccountGone: isGone))
        }
        guard !retired.kinds.isEmpty else { return }
        // In a new task: the change is made, and a cancelled caller must not leave the keys alive.
        await Task {
            for url in Set(retired.kinds.keys.map(\.keyServiceURL)) {
                await endRetiredKeys(at: url)
                // If the list cannot be read, no key counts as ended.
                let pending = try? await listedKeys(at: url)
                for (key, kind) in retired.kinds where key.keyServiceURL == url && pending?.contains(key) != false {
                    let end: AccountNotice.End = key.lacksSignature ? .atLogin : .later
                    notices.send(.keyNotEnded(kind, key.id, of: id, end, isAccountGone: isGone))
                }
            }
        }.value
    }

    /// Ends retired keys that could not be ended before.
    ///
    /// - Parameters:
    ///   - keyServiceURL: the key service of the keys; nil for all.
    ///   - limit: the longest time to try; nil for ``timeout``.
    ///   - opened: an account that is open. Its vault key opens the signatures that are sealed under it.
    /// - Returns: the keys that are still to be ended.
    @discardableResult
    package func endRetiredKeys(
        at keyServiceURL: String? = nil, within limit: Duration? = nil,
        opening opened: (id: AccountID, vaultKey: VaultKey)? = nil
    ) async -> [RetiredKey] {
        let due = await retiredKeys(at: keyServiceURL)
        guard !due.isEmpty else { return [] }
        if let opened {
            for key in due where key.endSignature == nil && key.account == opened.id {
                let unsealed = await unsealed(key, opened.vaultKey)
                if unsealed.endSignature != nil { try? await RetiredKeys(store: store).replace(unsealed) }
            }
        }
        await within(limit ?? timeout, timer) {
            var silent: Set<String> = []
            for key in due where !silent.contains(key.keyServiceURL) && !Task.isCancelled {
                if await !end(key) { silent.insert(key.keyServiceURL) }
            }
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
        try await RetiredKeys(store: store).all().filter { key in
            // A new key may still get its keyslot.
            (keyServiceURL == nil || key.keyServiceURL == keyServiceURL) && !key.isYoung(at: clock.now)
        }
    }

    /// - Returns: false when the key service does not answer.
    private func end(_ key: RetiredKey) async -> Bool {
        do {
            guard let key = try await RetiredKeys(store: store).claim(key, at: clock.now) else { return true }
            // A key on the list never gets into a keyslot again, so an unused key stays unused.
            if try await !store.usesKey(key.id) {
                // The next login to its account opens a sealed signature.
                guard !key.lacksSignature else { return true }
                try await keys(ofRetired: key).end(key)
                FaultPoint.keyEnded.reach()
            }
            try await RetiredKeys(store: store).remove([key])
        } catch let error as KeyServiceError where error.code == .unavailable || error.code == .busy {
            return false
        } catch {}
        return true
    }

    func unsealed(_ key: RetiredKey, _ vaultKey: VaultKey?) async -> RetiredKey {
        guard let vaultKey, key.lacksSignature, let sealed = key.sealedEndSignature, let id = key.account else {
            return key
        }
        // A damaged keyslot may have lost its signature, and the vault key makes it again.
        guard
            let signature = sealed.isEmpty
                ? try? vaultKey.endKey(of: key.id).end(of: key.id)
                : try? await vaultKey.open(sealed, as: .keyEnd(key.id), of: id)
        else { return key }
        var key = key
        key.endSignature = signature
        return key
    }

    /// Ends the key of a new keyslot that will not be added. It cannot be added afterwards. A keyslot that was already
    /// added stays as it is.
    package func discard(_ slot: Keyslot, of account: Account, _ vaultKey: VaultKey) async {
        guard slot.needsKeyService else { return }
        history.spend(slot.keyID)
        _ = newClaims.take([slot.keyID])
        // In a new task: the store does nothing for a cancelled task, and the change may have been cancelled.
        await Task {
            let key = RetiredKey(
                id: slot.keyID, of: account, slot.kind, version: slot.keyServiceProtocol, slot.endSignature)
            guard (try? await store.usesKey(slot.keyID)) == false else { return }
            guard (try? await RetiredKeys(store: store).add([key])) != nil else {
                // The list cannot be written, so no later program would end the key.
                try? await keys(ofRetired: key).end(unsealed(key, vaultKey))
                return
            }
            await endRetiredKeys(at: account.keyServiceURL, opening: (account.id, vaultKey))
        }.value
    }
}

extension DamagedKeyslot {
    /// The stored protocol version; nil if a signature shows the version, because the number may be damaged.
    fileprivate var readableProtocol: Int? { endSignature.isEmpty ? keyServiceProtocol : nil }
}
