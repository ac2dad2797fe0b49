import Foundation
import Testing
import VaultCrypto

@testable import KeyServiceServer

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
                return TestStore(store: store, another: another) {
                    // This store asks the clock of the database.
                    try database.run("UPDATE key_service.guess_counter SET held_until = held_until - interval '1 h'")
                }
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
    private let expire: @Sendable () throws -> Void

    init(
        store: any KeyRecordOperations, temporary: TemporaryFolder? = nil,
        another: (@Sendable () async throws -> any KeyRecordOperations)? = nil,
        expire: @escaping @Sendable () throws -> Void = {}
    ) {
        self.store = store
        self.temporary = temporary
        self.another = another
        self.expire = expire
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

    /// The time of all changes; later after ``expireTickets()``.
    static let now: Int64 = 1_800_000_000
    static let later = now + GuessTicket.lifetime + 1

    /// Lets the time of open tickets run out. Charges after it use the time ``later``.
    func expireTickets() throws {
        try expire()
    }

    /// Makes the list of master keys, and one key.
    func prepared() async throws -> KeyRecord {
        try await store.addMasterKey(StoredMasterKey(id: Self.masterKeyID, check: [1, 2, 3]))
        let record = Self.record()
        #expect(try await change(.insert(record)) == "done")
        return record
    }

    static func record(masterKeyID: MasterKeyID = masterKeyID) -> KeyRecord {
        KeyRecord(
            id: UUID().uuidString.lowercased(), createdAt: now,
            details: .strong(salt: (0..<16).map { _ in .random(in: 0...255) }), masterKeyID: masterKeyID,
            content: (0..<40).map { _ in .random(in: 0...255) })
    }

    func commit(_ changes: KeyRecordChange...) async -> [Result<KeyRecordOutcome, KeyServiceServerError>] {
        await store.commit(changes, lane: 0, deadline: .now + .seconds(20))
    }

    /// Makes one change. The outcome "found" comes with the counts.
    @discardableResult
    func change(_ change: KeyRecordChange) async throws -> String {
        try Self.text(await commit(change).first)
    }

    /// Charges a guess that must be charged.
    func charge(_ record: KeyRecord, at time: Int64 = now) async throws -> (ticket: GuessTicket, found: FoundKey) {
        let ticket = GuessTicket.random()
        let result = try #require(await commit(.charge(keyID: record.id, ticket: ticket, time: time)).first)
        let outcome = try result.get()
        guard case .found(let found) = outcome else {
            Issue.record("not charged: \(Self.text(outcome))")
            throw KeyServiceServerError.busy
        }
        return (ticket, found)
    }

    /// Makes wrong guesses.
    func guessWrong(_ record: KeyRecord, times: Int) async throws {
        for _ in 0..<times {
            let (ticket, found) = try await charge(record)
            #expect(try await change(.settle(found.reference, ticket: ticket, .wrong)) == "done")
        }
    }

    func find(_ record: KeyRecord) async throws -> String {
        try await change(.find(keyID: record.id))
    }

    func tryCharge(_ record: KeyRecord, at time: Int64 = now) async throws -> String {
        try await change(.charge(keyID: record.id, ticket: .random(), time: time))
    }

    func summary(_ record: KeyRecord) async throws -> KeyRecordSummary {
        try #require(await store.summaries(after: nil, count: 100).first { $0.id == record.id })
    }

    static func text(_ result: Result<KeyRecordOutcome, KeyServiceServerError>?) throws -> String {
        let result = try #require(result)
        return text(try result.get())
    }

    private static func text(_ outcome: KeyRecordOutcome) -> String {
        switch outcome {
        case .done: "done"
        case .exists: "exists"
        case .found(let found): "found \(found.count.inARow)/\(found.count.inAll)"
        case .held: "held"
        case .locked: "locked"
        case .noSuchKey: "no such key"
        case .superseded: "superseded"
        case .checkedIn: "checked in"
        }
    }
}
