internal import VaultLocks

extension InMemoryKeyRecordStore {
    /// Returns the state that all instances of the service share.
    public func state() async throws -> StoreState {
        content.withLock { $0.state }
    }

    /// Changes the limits of wrong guesses. Locked keys stay locked.
    public func setLimits(_ limits: GuessLimits) async throws {
        content.withLock { content in
            for (id, entry) in content.entries where entry.key.lock == nil && content.isLocked(entry.key) {
                content.entries[id]?.key.lock = .locked
            }
            let old = content.state.limits
            content.state.limits = limits
            for entry in content.entries.values {
                guard var key = entry.key.oblivious, key.state == .live, let youngest = key.tries.last?.openedAt else {
                    continue
                }
                if key.tries.count >= old.inARow {
                    while key.tries.count < limits.inARow { key.add(.unknown(at: youngest)) }
                } else if key.tries.count >= limits.inARow {
                    // It has a try left, so it keeps one. Otherwise it would count as locked.
                    key.tries.removeLast(key.tries.count - limits.inARow + 1)
                }
                content.add(StoredKey(key, limits))
            }
            for key in content.entries.values.compactMap(\.key.oblivious) { content.add(StoredKey(key, limits)) }
        }
    }

    /// Adds a master key to the list.
    public func addMasterKey(_ masterKey: StoredMasterKey) async throws {
        content.withLock { content in
            guard !content.state.masterKeys.contains(where: { $0.id == masterKey.id }) else { return }
            content.state.masterKeys.append(masterKey)
        }
    }

    /// Removes a master key from the list, unless records or the identity are sealed under it.
    public func removeMasterKey(_ id: MasterKeyID) async throws -> Bool {
        content.withLock { content in
            guard !content.entries.values.contains(where: { $0.key.record.masterKeyID == id }),
                content.identity?.masterKeyID != id
            else { return false }
            content.state.masterKeys.removeAll { $0.id == id }
            return true
        }
    }

    /// Returns the identity of the service.
    public func identity() async throws -> StoredIdentity? { content.withLock { $0.identity } }

    /// Replaces the identity of the service.
    public func setIdentity(_ new: StoredIdentity, insteadOf old: StoredIdentity?) async throws -> Bool {
        content.withLock { content in
            guard content.identity == old else { return false }
            content.identity = new
            return true
        }
    }

    /// Returns the keys after a row, the oldest first.
    public func summaries(after row: Int64?, count: Int) async throws -> [KeyRecordSummary] {
        content.withLock { content in
            content.page(after: row, count: count) { _ in true }.map { entry in
                let key = entry.key
                return KeyRecordSummary(
                    row: entry.row, id: key.record.id, createdAt: key.record.createdAt, lastUsedAt: key.lastUsedAt,
                    wrongGuesses: key.count, lock: key.lock ?? (content.isLocked(key) ? .locked : nil),
                    details: key.record.details, masterKeyID: key.record.masterKeyID)
            }
        }
    }

    /// Returns the records after a row that are sealed under another master key.
    public func records(
        notUnder id: MasterKeyID, after row: Int64?, count: Int
    ) async throws -> [(row: Int64, KeyRecord)] {
        content.withLock { content in
            content.page(after: row, count: count) { $0.masterKeyID != id }.map { ($0.row, $0.key.record) }
        }
    }

    /// Returns the number of records under each master key.
    public func counts() async throws -> [MasterKeyID: Int] {
        content.withLock { content in
            Dictionary(grouping: content.entries.values, by: \.key.record.masterKeyID).mapValues(\.count)
        }
    }

    /// Gives a key all its guesses back.
    public func unlock(keyID: String) async throws {
        try content.withLock { content in
            guard let key = content.entries[keyID]?.key, key.lock != .revoked else {
                throw KeyServiceServerError.noSuchKey
            }
            if var oblivious = key.oblivious {
                guard oblivious.state == .live else { throw KeyServiceServerError.noSuchKey }
                oblivious.tries = []
                return content.add(StoredKey(oblivious, content.state.limits))
            }
            content.entries[keyID]?.key.count = GuessCount()
            content.entries[keyID]?.key.lock = nil
            content.entries[keyID]?.ticket = nil
        }
    }

    /// Ends a key for good, but keeps it.
    public func revoke(keyID: String) async throws {
        try content.withLock { content in
            guard let key = content.entries[keyID]?.key else { throw KeyServiceServerError.noSuchKey }
            if var oblivious = key.oblivious {
                oblivious.end(.revoked)
                return content.add(StoredKey(oblivious, content.state.limits))
            }
            content.entries[keyID]?.key.lock = .revoked
        }
    }

    /// Returns the keys of an owner.
    public func keys(ofOwner owner: [UInt8]) async throws -> [StoredKey] {
        content.withLock { content in
            content.entries.values.filter { $0.key.oblivious?.owner == owner }.sorted { $0.row < $1.row }.prefix(1000)
                .map(\.key)
        }
    }

    /// Deletes unfinished keys, and destroys keys that were locked for too long.
    public func sweep(unfinishedSince: Int64, lockedSince: Int64) async throws -> (deleted: Int, destroyed: Int) {
        content.withLock { content in
            var (deleted, destroyed) = (0, 0)
            for (id, entry) in content.entries {
                guard var key = entry.key.oblivious else { continue }
                if key.state == .unfinished, key.record.createdAt <= unfinishedSince {
                    content.entries[id] = nil
                    deleted += 1
                } else if key.state == .live, key.tries.count >= content.state.limits.inARow,
                    key.tries.allSatisfy({ $0.openedAt <= lockedSince })
                {
                    key.end(.destroyed)
                    content.add(StoredKey(key, content.state.limits))
                    destroyed += 1
                }
            }
            return (deleted, destroyed)
        }
    }

    /// Ends live keys that nobody claimed.
    public func endUnclaimedKeys(since time: Int64) async throws -> Int {
        content.withLock { content in
            let unclaimed = content.entries.values.compactMap(\.key.oblivious).filter {
                $0.state == .live && $0.owner == ObliviousKey.nobodyYet && $0.record.createdAt <= time
            }
            for var key in unclaimed {
                key.end(.ended)
                content.add(StoredKey(key, content.state.limits))
            }
            return unclaimed.count
        }
    }

    /// Deletes a key for good.
    public func delete(keyID: String) async throws -> Bool {
        try content.withLock { content in
            guard content.entries.removeValue(forKey: keyID) != nil else { throw KeyServiceServerError.noSuchKey }
            return true
        }
    }

    /// Leaves each key at most one guess.
    public func acceptRollback(generation: Int64, now: Int64) async throws {
        content.withLock { content in
            content.state.generation = generation
            let limits = content.state.limits
            for (id, entry) in content.entries {
                if var key = entry.key.oblivious {
                    if key.state == .unfinished {
                        content.entries[id] = nil
                        continue
                    }
                    if key.owner == ObliviousKey.nobodyYet { key.owner = nil }
                    while key.state == .live && key.tries.count < limits.inARow - 1 { key.add(.unknown(at: now)) }
                    content.add(StoredKey(key, limits))
                    continue
                }
                let count = entry.key.count
                content.entries[id]?.ticket = nil
                content.entries[id]?.key.count = GuessCount(
                    inARow: max(count.inARow, limits.inARow - 1), inAll: count.inAll, lastWrongAt: count.lastWrongAt)
            }
        }
    }

    /// Sets the reason why no server may use this store.
    public func retire(because reason: String?, insteadOf old: String?) async throws -> Bool {
        changing(whileRetiredBecause: old) { $0.state.retiredBecause = reason }
    }

    /// Returns the keys after a row, with all their stored values.
    public func storedKeys(after row: Int64?, count: Int) async throws -> [(row: Int64, StoredKey)] {
        content.withLock { $0.page(after: row, count: count) { _ in true }.map { ($0.row, $0.key) } }
    }

    /// Puts keys of another store into this one.
    public func put(_ keys: [StoredKey], whileRetiredBecause reason: String?) async throws -> Bool {
        changing(whileRetiredBecause: reason) { content in
            for key in keys { content.add(key) }
        }
    }

    /// Deletes a key, if it is there.
    public func delete(keyID: String, whileRetiredBecause reason: String?) async throws -> Bool {
        changing(whileRetiredBecause: reason) { $0.entries[keyID] = nil }
    }

    private func changing(whileRetiredBecause reason: String?, _ body: (inout Content) -> Void) -> Bool {
        content.withLock { content in
            guard content.state.retiredBecause == reason else { return false }
            body(&content)
            return true
        }
    }
}

extension InMemoryKeyRecordStore.Content {
    fileprivate func page(
        after row: Int64?, count: Int, where isWanted: (KeyRecord) -> Bool
    ) -> [InMemoryKeyRecordStore.Entry] {
        Array(
            entries.values.filter { $0.row > row ?? .min && isWanted($0.key.record) }.sorted { $0.row < $1.row }
                .prefix(count))
    }
}
