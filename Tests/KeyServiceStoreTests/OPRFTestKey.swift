import Testing
import VaultBase

@testable import KeyServiceCore

/// A key of the protocol's version 2 in a store. Its calls use the rules, but no signatures and no curve.
struct OPRFTestKey: Sendable {
    /// The answer to a call.
    enum Answer: Equatable, Sendable {
        case done
        case tried(ticket: [UInt8], open: Int)
        case refused(StoredKey.Refusal)
        case exists
        /// The key is unknown, or has version 1.
        case unauthorized
    }

    /// The answer of the last run of an update.
    final class LastAnswer: Sendable {
        private let lock = Lock(Answer.unauthorized)

        var value: Answer { lock.withLock { $0 } }

        func set(_ answer: Answer) { lock.withLock { $0 = answer } }
    }

    let test: TestStore
    let new: StoredKey
    let confirmKey = OPRFTestKey.random(32)

    var id: String { new.record.id }

    /// A key that is in no store yet.
    init(
        _ test: TestStore, id: String = TestStore.record().id, masterKeyID: MasterKeyID = TestStore.masterKeyID,
        content: [UInt8] = random(144), createdAt: Int64 = TestStore.now, owner: [UInt8]? = random(64)
    ) {
        self.test = test
        let record = KeyRecord(
            id: id, createdAt: createdAt, details: .oprf(endKey: Self.random(32), confirmKey: nil),
            masterKeyID: masterKeyID, content: content)
        new = StoredKey(
            record: record, state: .unfinished, guesses: [Self.newGuess(at: createdAt)], owner: owner,
            label: Self.random(100))
    }

    /// Makes a live key without guesses.
    static func live(
        _ test: TestStore, createdAt: Int64 = TestStore.now, owner: [UInt8]? = random(64)
    ) async throws -> OPRFTestKey {
        try await test.store.addMasterKey(StoredMasterKey(id: TestStore.masterKeyID, check: [1, 2, 3]))
        let key = OPRFTestKey(test, createdAt: createdAt, owner: owner)
        #expect(try await key.create() == .done)
        #expect(try await key.confirm([key.new.guesses[0].ticket]) == .done)
        return key
    }

    static func random(_ count: Int) -> [UInt8] { (0..<count).map { _ in .random(in: 0...255) } }

    static func newGuess(at time: Int64 = TestStore.now) -> StoredKey.Guess {
        StoredKey.Guess(ticket: random(16), blinded: random(32), openedAt: time)
    }

    /// The key as the store has it.
    func stored() async throws -> StoredKey? {
        try await test.keys().first { $0.record.id == id }
    }

    func create() async throws -> Answer { try await run(mayAdd: true, creation) }

    func evaluate(
        _ blinded: [UInt8] = random(32), ticket: [UInt8] = random(16), at time: Int64 = TestStore.now
    ) async throws -> Answer {
        try await run(Self.evaluation(blinded, ticket: ticket, at: time))
    }

    func confirm(_ tickets: [[UInt8]], at time: Int64 = TestStore.now) async throws -> Answer {
        try await run(confirmation(tickets, at: time))
    }

    func end() async throws -> Answer { try await run(Self.ending) }

    func claim(for owner: [UInt8]) async throws -> Answer {
        try await run { key throws(StoredKey.Refusal) in
            guard var known = key else { return .unauthorized }
            defer { key = known }
            try known.claim(for: owner)
            return .done
        }
    }

    private func run(mayAdd: Bool = false, _ call: @escaping Call) async throws -> Answer {
        let answer = LastAnswer()
        let results = await test.commit(Self.update(id, mayAdd: mayAdd, into: answer, call))
        try results[0].get()
        return answer.value
    }

    // MARK: - Updates

    typealias Call = @Sendable (inout StoredKey?) throws(StoredKey.Refusal) -> Answer

    /// An update that leaves its answer in `answer`.
    static func update(
        _ id: String, mayAdd: Bool = false, into answer: LastAnswer, _ call: @escaping Call
    ) -> KeyUpdate {
        KeyUpdate(id, mayAdd ? .add : .change) { key, _ in
            guard key?.isOPRF != false else { return answer.set(.unauthorized) }
            let result: Answer
            do throws(StoredKey.Refusal) {
                result = try call(&key)
            } catch {
                result = .refused(error)
            }
            answer.set(result)
        }
    }

    var creation: Call {
        { [new] key throws(StoredKey.Refusal) in
            if let known = key { return known == new ? .done : .exists }
            key = new
            return .done
        }
    }

    static func evaluation(
        _ blinded: [UInt8], ticket: [UInt8] = random(16), at time: Int64 = TestStore.now, limit: Int = 3
    ) -> Call {
        { key throws(StoredKey.Refusal) in
            guard var known = key else { return .unauthorized }
            defer { key = known }
            let tried = try known.evaluate(blinded, ticket: ticket, limit: limit, now: time)
            return .tried(ticket: tried.ticket, open: known.guesses.count)
        }
    }

    func confirmation(_ tickets: [[UInt8]], at time: Int64 = TestStore.now) -> Call {
        { [confirmKey] key throws(StoredKey.Refusal) in
            guard var known = key else { return .unauthorized }
            defer { key = known }
            try known.confirm(tickets, confirmKey: confirmKey, now: time)
            return .done
        }
    }

    /// Ends a key. Nothing is left of an unfinished one.
    static let ending: Call = { key throws(StoredKey.Refusal) in
        guard var known = key else { return .unauthorized }
        if known.state == .unfinished {
            key = nil
        } else {
            known.end(.ended)
            key = known
        }
        return .done
    }
}
