internal import Foundation
internal import VaultBase

/// The move of all keys from one store into another. It can be stopped at any moment, and goes on when it is called
/// again. At no time can both stores be served.
///
/// The target is retired until it is complete. The source is retired before the target is not. The reason of the target
/// names the source: it is the claim of this move, and each change of the target needs it.
package struct StoreMove {
    private static let pageSize = 500

    /// The data folder of the source, for messages.
    let folder: String
    let source: any KeyRecordOperations
    let target: any KeyRecordOperations
    /// Gets the number of keys that are copied, now and then.
    let report: @Sendable (Int) -> Void

    package init(
        folder: String, source: any KeyRecordOperations, target: any KeyRecordOperations,
        report: @escaping @Sendable (Int) -> Void
    ) {
        self.folder = folder
        self.source = source
        self.target = target
        self.report = report
    }

    /// Copies all keys, compares them, and lets the target take the place of the source.
    ///
    /// - Returns: the number of keys; nil if an earlier call had done everything, and all keys are still there.
    package func run() async throws -> Int? {
        let (old, new) = (try await source.state(), try await target.state())
        let reason = Self.movedReason(to: new)
        guard old.retiredBecause == nil || old.retiredBecause == reason else {
            throw KeyServiceServerError(retired: old.retiredBecause ?? "")
        }
        if old.retiredBecause == reason, new.retiredBecause == nil {
            try await findMoved()
            return nil
        }
        let claim = try await claimTarget(new, for: old)
        for masterKey in old.masterKeys { try await target.addMasterKey(masterKey) }
        for log in try await source.auditLogs() { try await target.addAuditLog(log) }
        if let identity = try await source.identity() {
            try require(await target.setIdentity(identity, insteadOf: target.identity()))
        }
        try await target.setLimits(old.limits)
        try await target.write(clock: old.clock)
        try await removeStrangers(claim)
        try await copy(claim)
        let count = try await compare()
        try require(await source.retire(because: reason, insteadOf: old.retiredBecause))
        try require(await target.retire(because: nil, insteadOf: claim))
        return count
    }

    private static func name(of state: StoreState) -> String {
        Hexadecimal.text(state.storeID)
    }

    private static let movedStart = "The keys were moved into the PostgreSQL database "
    private static let claimStart = "Keys of the database "
    private static let claimPlace = "Finish this move from the folder "

    private static func movedReason(to state: StoreState) -> String {
        "\(movedStart)\(name(of: state)). Use that database."
    }

    /// Returns what helps if a store is out of use for this reason.
    static func remedy(for reason: String) -> Remedy? {
        if reason.hasPrefix(movedStart) { return .nameDatabase }
        guard reason.hasPrefix(claimStart), let place = reason.range(of: claimPlace) else { return nil }
        return .finishMove(folder: String(reason[place.upperBound...].dropLast()))
    }

    /// Keeps servers and other moves away from the target.
    ///
    /// - Returns: the claim, as the target has it.
    private func claimTarget(_ new: StoreState, for old: StoreState) async throws -> String {
        let start = "\(Self.claimStart)\(Self.name(of: old)) are being moved into this one."
        if let found = new.retiredBecause {
            // The folder may have another path by now.
            guard found.hasPrefix(start) else { throw KeyServiceServerError(retired: found) }
            return found
        }
        let claim = "\(start) \(Self.claimPlace)\(folder)."
        try await requireNewTarget()
        try require(await target.retire(because: claim, insteadOf: nil))
        do {
            // Somebody else may have taken the target just before.
            try await requireNewTarget()
        } catch {
            _ = try await target.retire(because: nil, insteadOf: claim)
            throw error
        }
        return claim
    }

    private func requireNewTarget() async throws {
        let first = try await target.page(after: nil, count: 1, of: .all)
        guard try await target.state().masterKeys.isEmpty, first.keys.isEmpty, first.damaged.isEmpty else {
            throw KeyServiceServerError(
                .configurationInvalid, "The PostgreSQL database is in use. Move the keys into a new database.")
        }
    }

    private func require(_ isOurs: Bool) throws {
        guard isOurs else {
            throw KeyServiceServerError(.busy, "Another command changed one of the databases. Type the command again.")
        }
    }

    /// Looks for the keys of an earlier move. The target may have more keys by now.
    private func findMoved() async throws {
        var (ours, theirs) = (Pages(source), Pages(target))
        while let key = try await ours.next() {
            // The order is the same in both.
            var found = try await theirs.next()
            while let other = found, other.record.id != key.record.id { found = try await theirs.next() }
            guard found != nil else {
                throw KeyServiceServerError(
                    .storeUnusable,
                    """
                    The keys were moved before, but the key \(key.record.id) is not in the PostgreSQL database any \
                    more. If nobody deleted it there, keep the data folder, and restore a backup.
                    """)
            }
        }
    }

    /// Removes what an earlier call copied, if the source has changed since.
    private func removeStrangers(_ claim: String) async throws {
        var (ours, theirs) = (Pages(source), Pages(target))
        var isSame = true
        while let key = try await theirs.next() {
            if isSame { isSame = try await ours.next()?.record.id == key.record.id }
            if !isSame { try require(await target.delete(keyID: key.record.id, whileRetiredBecause: claim)) }
        }
    }

    private func copy(_ claim: String) async throws {
        var row: Int64?
        var count = 0
        repeat {
            let page = try await source.page(after: row, count: Self.pageSize, of: .all)
            let keys = try page.undamagedKeys()
            if !keys.isEmpty { try require(await target.put(keys, whileRetiredBecause: claim)) }
            row = page.last
            count += keys.count
            if !keys.isEmpty { report(count) }
        } while row != nil
    }

    private func compare() async throws -> Int {
        var (ours, theirs) = (Pages(source), Pages(target))
        var count = 0
        while let key = try await ours.next() {
            guard try await theirs.next() == key else { throw Self.different(key.record.id) }
            count += 1
        }
        if let more = try await theirs.next() { throw Self.different(more.record.id) }
        return count
    }

    private static func different(_ keyID: String) -> KeyServiceServerError {
        KeyServiceServerError(
            .storeUnusable,
            "The key \(keyID) is not the same in both databases. Nothing was retired. Type the command again.")
    }

    /// All keys of a store, one after the other.
    private struct Pages {
        private let store: any KeyRecordOperations
        private var keys: [StoredKey] = []
        private var index = 0
        private var row: Int64?
        private var hasMore = true

        init(_ store: any KeyRecordOperations) {
            self.store = store
        }

        mutating func next() async throws -> StoredKey? {
            while index == keys.count {
                guard hasMore else { return nil }
                let page = try await store.page(after: row, count: StoreMove.pageSize, of: .all)
                (keys, index, row) = (try page.undamagedKeys(), 0, page.last)
                hasMore = row != nil
            }
            defer { index += 1 }
            return keys[index]
        }
    }
}
