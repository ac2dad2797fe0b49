import Foundation
import KeyServiceTestSupport
import Testing
import VaultBase

@testable import KeyServiceCore
@testable import KeyServiceSQLite

#if PostgreSQL
    import KeyServicePostgreSQL
#endif

/// A folder that is removed at the end.
final class TemporaryFolder: Sendable {
    let path = FileManager.default.temporaryDirectory.path + "/key-store-" + UUID().uuidString

    init() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// The stores that must all behave alike.
enum StoreKind: CaseIterable, CustomTestStringConvertible {
    case memory
    case sqlite
    #if PostgreSQL
        case postgreSQL
    #endif

    var testDescription: String { "\(self)" }

    /// The stores that refuse a record under a master key that is not on their list.
    static let checked = allCases.filter { $0 != .memory }

    func make() async throws -> TestStore {
        switch self {
        case .memory: return TestStore(store: InMemoryKeyRecordStore())
        case .sqlite:
            let temporary = try TemporaryFolder()
            let folder = temporary.path + "/data"
            try PrivateFile.prepareFolder(path: folder, mayCreate: true)
            // The conformance suite has master keys of its own.
            let store = try SQLiteKeyRecordStore(path: folder + "/keys.sqlite", for: .create)
            return TestStore(store: store, temporary: temporary)
        #if PostgreSQL
            case .postgreSQL:
                let database = try await PrivateServer.shared.makeDatabase()
                let store = try await PostgreSQLKeyRecordStore.open(url: database.url, purpose: .create, lanes: 2)
                let another = { @Sendable () async throws -> any KeyRecordOperations in
                    try await PostgreSQLKeyRecordStore.open(url: database.url, purpose: .serve, lanes: 2)
                }
                return TestStore(store: store, another: another)
        #endif
        }
    }
}

/// A new store with one master key on its list.
struct TestStore: Sendable {
    static let masterKeyID = MasterKeyID(rawValue: 0xFEDC_BA98_7654_3210)

    let store: any KeyRecordOperations
    private let temporary: TemporaryFolder?
    private let another: (@Sendable () async throws -> any KeyRecordOperations)?

    init(
        store: any KeyRecordOperations, temporary: TemporaryFolder? = nil,
        another: (@Sendable () async throws -> any KeyRecordOperations)? = nil
    ) {
        self.store = store
        self.temporary = temporary
        self.another = another
    }

    /// The database of a store in a folder, with its write-ahead log.
    func databaseBytes() throws -> Data {
        let path = try #require(temporary?.path) + "/data/keys.sqlite"
        return try Data(contentsOf: URL(fileURLWithPath: path))
            + ((try? Data(contentsOf: URL(fileURLWithPath: path + "-wal"))) ?? Data())
    }

    /// The store for a second instance of the service. Only a shared database opens twice.
    func secondInstance() async throws -> any KeyRecordOperations {
        try await another?() ?? store
    }

    /// The time of all changes.
    static let now: Int64 = 1_800_000_000
    /// A time when no guess of ``now`` is under way any more.
    static let later = now + StoredKey.evaluationTime + 1

    /// Makes the list of master keys, and one key.
    func prepared() async throws -> KeyRecord {
        try await store.addMasterKey(StoredMasterKey(id: Self.masterKeyID, check: [1, 2, 3]))
        let record = Self.record()
        #expect(try await run(.insert(record)) == "done")
        return record
    }

    static func record(masterKeyID: MasterKeyID = masterKeyID) -> KeyRecord {
        KeyRecord(
            id: UUID().uuidString.lowercased(), createdAt: now,
            details: .strong(salt: (0..<16).map { _ in .random(in: 0...255) }), masterKeyID: masterKeyID,
            content: (0..<40).map { _ in .random(in: 0...255) })
    }

    func commit(_ updates: KeyUpdate...) async -> [Result<Void, any Error>] {
        await store.commit(updates, lane: 0, deadline: .now + .seconds(20))
    }

    /// Makes calls in one batch, and returns their answers.
    func runAll(_ calls: GuessCall...) async throws -> [String] {
        let results = await store.commit(calls.map(\.update), lane: 0, deadline: .now + .seconds(20))
        #expect(results.count == calls.count)
        return zip(calls, results).map { call, result in call.text(result) }
    }

    /// Makes one call.
    @discardableResult
    func run(_ call: GuessCall) async throws -> String { try await runAll(call)[0] }

    /// Charges a guess that must be charged.
    ///
    /// - Returns: the ticket, and the answer, such as "found 0/0": the wrong guesses before.
    func charge(_ record: KeyRecord, at time: Int64 = now) async throws -> (ticket: [UInt8], answer: String) {
        let ticket = StoredKey.newTicket()
        let answer = try await run(.charge(record.id, ticket, at: time))
        #expect(answer.hasPrefix("found"))
        return (ticket, answer)
    }

    /// Makes wrong guesses.
    func guessWrong(_ record: KeyRecord, times: Int) async throws {
        for _ in 0..<times {
            let (ticket, _) = try await charge(record)
            #expect(try await run(.settle(record.id, ticket, .wrong)) == "done")
        }
    }

    func find(_ record: KeyRecord) async throws -> String { try await run(.find(record.id)) }

    /// Makes a guess, and returns the answer.
    func guess(_ record: KeyRecord, at time: Int64 = now) async throws -> String {
        try await run(.charge(record.id, StoredKey.newTicket(), at: time))
    }

    /// All keys, the oldest first.
    func keys() async throws -> [StoredKey] {
        try await store.page(after: nil, count: 100_000, of: .all).undamagedKeys()
    }

    func key(_ id: String) async throws -> StoredKey { try #require(try await keys().first { $0.record.id == id }) }

    func summary(_ id: String) async throws -> KeyRecordSummary {
        KeyRecordSummary(try await key(id), try await store.state().limits)
    }
}

/// A call about guesses of the protocol's version 1, with its answer in words.
struct GuessCall: Sendable {
    let update: KeyUpdate
    private let answer: Answer

    private final class Answer: Sendable {
        private let words = Lock("")
        var value: String { words.withLock { $0 } }
        func set(_ new: String) { words.withLock { $0 = new } }
    }

    private init(
        _ id: String, _ purpose: KeyUpdate.Purpose = .change,
        _ body: @escaping @Sendable (inout StoredKey?, GuessLimits) throws -> String
    ) {
        let answer = Answer()
        self.answer = answer
        update = KeyUpdate(id, purpose) { key, limits in answer.set(try body(&key, limits)) }
    }

    func text(_ result: Result<Void, any Error>) -> String {
        switch result {
        case .success: answer.value
        case .failure(let refusal as StoredKey.GuessRefusal): "\(refusal)"
        case .failure(let error as KeyServiceServerError): error.code.name
        case .failure(let error): "\(error)"
        }
    }

    static func insert(_ record: KeyRecord) -> GuessCall {
        GuessCall(record.id, .add) { key, _ in
            guard let known = key else {
                key = StoredKey(record: record)
                return "done"
            }
            return known.record == record ? "done" : "exists"
        }
    }

    static func find(_ id: String) -> GuessCall {
        GuessCall(id, .read) { key, limits in
            guard let key, !key.isOPRF else { return "no such key" }
            guard key.state == .live, key.remaining(limits) > 0 else { return "locked" }
            return "found \(key.guesses.count)/\(key.wrongInAll)"
        }
    }

    /// The answer has the wrong guesses before this one.
    static func charge(_ id: String, _ ticket: [UInt8], at time: Int64 = TestStore.now) -> GuessCall {
        GuessCall(id) { key, limits in
            guard var known = key, !known.isOPRF else { return "no such key" }
            try known.charge(ticket, limits, now: time)
            key = known
            return "found \(known.wrongGuesses(besides: ticket, now: time).count)/\(known.wrongInAll - 1)"
        }
    }

    static func settle(_ id: String, _ ticket: [UInt8], _ result: StoredKey.GuessResult) -> GuessCall {
        GuessCall(id) { key, _ in key?.settle(ticket, result) == true ? "done" : "superseded" }
    }

    /// A right guess that forgets all guesses that are known to be wrong.
    static func settleRight(_ id: String, _ ticket: [UInt8], at time: Int64 = TestStore.now) -> GuessCall {
        GuessCall(id) { key, _ in
            let wrong = key?.wrongGuesses(besides: ticket, now: time).map(\.ticket) ?? []
            return key?.settle(ticket, .right(time: time, forgetting: wrong)) == true ? "done" : "superseded"
        }
    }

    static func noteUse(_ id: String, at time: Int64) -> GuessCall {
        GuessCall(id) { key, _ in
            let wrong = key?.wrongGuesses(now: time).map(\.ticket) ?? []
            key?.noteUse(at: time, forgetting: wrong)
            return "done"
        }
    }
}
