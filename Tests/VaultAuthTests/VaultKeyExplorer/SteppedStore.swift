import VaultBase

@testable import VaultStorage

/// The store as one program of a ``VaultKeyWorld`` sees it: before each call the others may act.
struct SteppedStore: SecureStore {
    let world: VaultKeyWorld
    let base: any SecureStore
    let life: Life

    func apply(_ changes: [StoreChange], to id: AccountID) async throws {
        try await life.step("write")
        try await base.apply(changes, to: id)
        guard changes.contains(where: { if case .resealItems = $0 { true } else { false } }) else { return }
        // In a new task: the store does nothing for a cancelled task.
        await Task { await world.vaultKeyWasReplaced(by: life) }.value
    }

    func withRecord<R: Sendable>(
        _ name: String, _ change: @escaping @Sendable (inout [UInt8]?) throws -> R
    ) async throws -> R {
        // Confirmations are sent beside other work. A step there would come at another time in each run.
        if !name.hasSuffix("own-guesses") { try await life.step("record") }
        guard life.isAlive else { throw Life.Crashed() }
        return try await base.withRecord(name, change)
    }

    func withLock<R: Sendable>(
        on id: AccountID, _ body: @Sendable (AccountLock) async throws -> R
    ) async throws -> R {
        try await life.step("lock") { [world] in world.locks.isFree(id) }
        // Another task of the same program may have passed the step above, and may have taken the lock first.
        guard let lock = world.locks.take(id, by: life) else { return try await withLock(on: id, body) }
        return try await body(lock)
    }

    func account(_ id: AccountID) async throws -> Account? {
        try await life.step("read account")
        return try await base.account(id)
    }

    func item(_ name: ItemName, of id: AccountID) async throws -> [UInt8]? {
        try await life.step("read \(name)")
        return try await base.item(name, of: id)
    }

    func chunk(
        _ number: Int, ofItem name: ItemName, head: [UInt8], of id: AccountID
    ) async throws -> [UInt8]? {
        try await life.step("read chunk")
        return try await base.chunk(number, ofItem: name, head: head, of: id)
    }

    func stagedKeyslot(of id: AccountID) async throws -> Keyslot? {
        try await life.step("read staged")
        return try await base.stagedKeyslot(of: id)
    }

    // These are rare, or always followed by another call.
    func accounts() async throws -> [Account] { try await base.accounts() }
    func accounts(named name: String) async throws -> [Account] { try await base.accounts(named: name) }
    func itemNames(of id: AccountID) async throws -> [ItemName] { try await base.itemNames(of: id) }
    func usesKey(_ keyID: String) async throws -> Bool { try await base.usesKey(keyID) }
    func checkWritable() async throws { try await base.checkWritable() }
    var folderForChunks: String { base.folderForChunks }
}

/// The locks of the accounts. A crash ends the locks of its program.
final class SteppedLocks: Sendable {
    private struct State {
        var holders: [AccountID: (life: Life, number: Int)] = [:]
        var count = 0
    }

    private let state = Lock(State())

    func isFree(_ id: AccountID) -> Bool { state.withLock { $0.holders[id] == nil } }

    /// - Returns: nil if somebody else was faster.
    func take(_ id: AccountID, by life: Life) -> AccountLock? {
        let number = state.withLock { state -> Int? in
            guard state.holders[id] == nil else { return nil }
            state.count += 1
            state.holders[id] = (life, state.count)
            return state.count
        }
        guard let number else { return nil }
        return AccountLock { [self] in
            state.withLock { if $0.holders[id]?.number == number { $0.holders[id] = nil } }
            life.run.wake()
        }
    }

    func end(of lives: [Life]) {
        state.withLock { state in
            state.holders = state.holders.filter { holder in !lives.contains { $0 === holder.value.life } }
        }
    }
}
