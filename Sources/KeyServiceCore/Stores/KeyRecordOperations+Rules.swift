// The operator's calls that change keys by a rule. Each key changes durably by itself, so a call that was stopped can
// be repeated.
extension KeyRecordOperations {
    /// Returns a page of all keys for an operator, the oldest first.
    ///
    /// - Parameters:
    ///   - row: the last row of the page before; nil for the first page.
    /// - Returns: the keys, and the last row; nil if no key is left.
    /// - Throws: ``KeyServiceServerError`` with code `storeUnusable` if a record is damaged.
    package func summaries(
        after row: Int64?, count: Int, _ limits: GuessLimits
    ) async throws -> (keys: [KeyRecordSummary], last: Int64?) {
        let page = try await page(after: row, count: count, of: .all)
        return (try page.undamagedKeys().map { KeyRecordSummary($0, limits) }, page.last)
    }

    /// Changes the limits of wrong guesses for all instances. Locked keys stay locked.
    package func setLimits(_ limits: GuessLimits) async throws {
        // Every server calls this at its start, and the change reads all keys.
        guard try await state().limits != limits else { return }
        // The store tells the limits of this moment: another server may have changed them. Keys that were locked during
        // a pass need one more.
        var isChanged = true
        let note = { (_: StoredKey?) in isChanged = true }
        while isChanged {
            isChanged = false
            try await changeAll(.all, report: note) { key, current in key?.adapt(from: current, to: limits) }
        }
        try await write(limits: limits)
    }

    /// Gives a key all its guesses back, and unlocks it. A guess under way is not taken back a second time.
    ///
    /// - Throws: also `noSuchKey`. A key that is gone for good stays as it is.
    package func unlock(keyID: String) async throws {
        try await change(keyID) { try $0.unlock() }
    }

    /// Ends a key for good, but keeps its row. Clients are told that the key is locked or gone.
    ///
    /// - Throws: also `noSuchKey`. A damaged record cannot be changed: delete it.
    package func revoke(keyID: String) async throws {
        try await change(keyID) { $0.end(.revoked) }
        _ = try await eraseOldCopies()
    }

    /// Deletes a key for good.
    ///
    /// - Returns: false if old copies of the record may remain in the store's files for a while.
    /// - Throws: also `noSuchKey`.
    package func delete(keyID: String) async throws -> Bool {
        guard try await remove(keyID: keyID) else { throw KeyServiceServerError.noSuchKey }
        return try await eraseOldCopies()
    }

    /// Deletes keys of the protocol's version 2 that nobody confirmed in time, and destroys those that were locked for
    /// too long.
    ///
    /// - Parameters:
    ///   - unfinishedSince: unfinished keys of this time and before are deleted, in seconds since 1970.
    ///   - lockedSince: full keys without a guess after this time are destroyed, in seconds since 1970.
    /// - Returns: the number of deleted and of destroyed keys.
    package func sweep(unfinishedSince: Int64, lockedSince: Int64) async throws -> (deleted: Int, destroyed: Int) {
        var (deleted, destroyed) = (0, 0)
        let count = { (after: StoredKey?) in if after == nil { deleted += 1 } else { destroyed += 1 } }
        try await changeAll(.unsettled, report: count) { key, limits in
            guard let known = key else { return }
            if known.state == .unfinished {
                if known.record.createdAt <= unfinishedSince { key = nil }
            } else if known.isOPRF, known.state == .live, known.remaining(limits) == 0,
                known.guesses.allSatisfy({ $0.openedAt <= lockedSince })
            {
                key?.end(.destroyed)
            }
        }
        // The old copies of keys that clients ended meanwhile go, too.
        _ = try await eraseOldCopies()
        return (deleted, destroyed)
    }

    /// Ends live keys of the protocol's version 2 that had to be claimed, and that nobody claimed: see
    /// ``StoredKey/nobodyYet``.
    ///
    /// - Parameter time: keys of this time and before are ended, in seconds since 1970.
    /// - Returns: the number of ended keys.
    package func endUnclaimedKeys(since time: Int64) async throws -> Int {
        let isUnclaimed: @Sendable (StoredKey) -> Bool = {
            $0.owner == StoredKey.nobodyYet && $0.state == .live && $0.record.createdAt <= time
        }
        var ended = 0
        while true {
            let unclaimed = try await keys(ofOwner: StoredKey.nobodyYet).keys.map(\.key).filter(isUnclaimed)
            if unclaimed.isEmpty { break }
            try await change(
                unclaimed.map { key in
                    KeyUpdate(key.record.id) { key, _ in if key.map(isUnclaimed) == true { key?.end(.ended) } }
                })
            ended += unclaimed.count
        }
        if ended > 0 { _ = try await eraseOldCopies() }
        return ended
    }

    /// Leaves each key at most one guess, deletes unfinished keys, and sets the generation. Call it after an older
    /// state of the store was put back, while no server runs: a thief must not get guesses again.
    ///
    /// - Parameters:
    ///   - now: the time of the guesses that are added, in seconds since 1970.
    package func acceptRollback(generation: Int64, now: Int64) async throws {
        try await changeAll(.all) { key, limits in
            // A recorded confirm would finish an unfinished key with all its guesses.
            if key?.state == .unfinished { key = nil } else { key?.leaveOneGuess(limits, now: now) }
        }
        // Until now, each server refuses the store.
        try await write(generation: generation)
    }

    // MARK: - The parts

    /// Changes a key that must be there.
    private func change(_ keyID: String, _ rule: @escaping @Sendable (inout StoredKey) throws -> Void) async throws {
        let update = KeyUpdate(keyID) { key, _ in
            guard var known = key else { throw KeyServiceServerError.noSuchKey }
            try rule(&known)
            key = known
        }
        try await change([update])
    }

    /// - Throws: the error of the first update that failed.
    private func change(_ updates: [KeyUpdate]) async throws {
        for result in await operate(updates) { try result.get() }
    }

    /// Changes the keys of a selection. A key that stays the same is not written. Damaged records stay as they are.
    ///
    /// - Parameter report: gets each key that changes, as it is afterwards.
    private func changeAll(
        _ selection: KeySelection, report: (StoredKey?) -> Void = { _ in },
        _ rule: @escaping @Sendable (inout StoredKey?, GuessLimits) -> Void
    ) async throws {
        let limits = try await state().limits
        var row: Int64?
        repeat {
            let page = try await page(after: row, count: 2000, of: selection)
            let updates = page.keys.compactMap { row, key in
                var changed: StoredKey? = key
                rule(&changed, limits)
                guard changed != key else { return nil as KeyUpdate? }
                report(changed)
                return KeyUpdate(key.record.id, .change, rule)
            }
            if !updates.isEmpty { try await change(updates) }
            row = page.last
        } while row != nil
    }
}
