import Testing

@testable import KeyServiceCore

/// Two instances of the service at a time, each with its own writer.
@Suite struct OPRFInstancesTests {
    private typealias Key = OPRFTestKey

    private static func writers(_ test: TestStore) async throws -> [GroupCommit] {
        [GroupCommit(store: test.store), GroupCommit(store: try await test.secondInstance())]
    }

    /// Makes the calls in parallel, in turn on the writers.
    private static func run(
        _ writers: [GroupCommit], _ calls: [(id: String, call: Key.Call)], mayAdd: Bool = false
    ) async throws -> [Key.Answer] {
        try await withThrowingTaskGroup(of: Key.Answer.self) { group in
            for (number, (id, call)) in calls.enumerated() {
                let writer = writers[number % writers.count]
                group.addTask {
                    let answer = Key.LastAnswer()
                    let update = Key.update(id, mayAdd: mayAdd, into: answer, call)
                    try await writer.update(id, update.purpose, deadline: .now + .seconds(60)) { key, limits in
                        try update.apply(&key, limits)
                    }
                    return answer.value
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    private static func tickets(_ answers: [Key.Answer]) -> [[UInt8]] {
        answers.compactMap { if case .tried(let ticket, _) = $0 { ticket } else { nil } }
    }

    @Test(arguments: StoreKind.allCases)
    func `when elements arrive in parallel, then only three are evaluated`(kind: StoreKind) async throws {
        let key = try await Key.live(try await kind.make())
        let writers = try await Self.writers(key.test)
        let answers = try await Self.run(
            writers, (0..<64).map { _ in (key.id, Key.evaluation(Key.random(32))) })
        let tickets = Self.tickets(answers)
        #expect(tickets.count == 3 && Set(tickets).count == 3)
        #expect(answers.filter { $0 == .refused(.busy) }.count == 61)
        #expect(Set(try #require(try await key.stored()).guesses.map(\.ticket)) == Set(tickets))
    }

    @Test(arguments: StoreKind.allCases)
    func `when one element is repeated, then it is one guess`(kind: StoreKind) async throws {
        let key = try await Key.live(try await kind.make())
        let writers = try await Self.writers(key.test)
        let blinded = Key.random(32)
        let answers = try await Self.run(writers, (0..<1000).map { _ in (key.id, Key.evaluation(blinded)) })
        let tickets = Self.tickets(answers)
        #expect(tickets.count == 1000 && Set(tickets).count == 1)
        #expect(try await key.stored()?.guesses.map(\.ticket) == Array(tickets.prefix(1)))
    }

    @Test(arguments: StoreKind.allCases) func `when keys share an ID, then one is made`(kind: StoreKind) async throws {
        let test = try await kind.make()
        try await test.store.addMasterKey(StoredMasterKey(id: TestStore.masterKeyID, check: [1, 2, 3]))
        let writers = try await Self.writers(test)
        for _ in 1...10 {
            let id = TestStore.record().id
            let keys = (0..<12).map { _ in Key(test, id: id) }
            let answers = try await Self.run(writers, keys.map { (id, $0.creation) }, mayAdd: true)
            #expect(answers.filter { $0 == .done }.count == 1)
            #expect(answers.filter { $0 == .exists }.count == 11)
            let stored = try #require(try await keys[0].stored())
            #expect(keys.filter { $0.new == stored }.count == 1)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when batches share keys, then every call is answered`(kind: StoreKind) async throws {
        let test = try await kind.make()
        var keys: [Key] = []
        for _ in 0..<24 { keys.append(try await Key.live(test)) }
        let writers = try await Self.writers(test)
        let calls = (0..<20).flatMap { _ in
            keys.shuffled().map { key in
                switch Int.random(in: 0..<4) {
                case 0: (key.id, key.confirmation([Key.random(16)]))
                default: (key.id, Key.evaluation(Key.random(32)))
                }
            }
        }
        let answers = try await Self.run(writers, calls)
        #expect(answers.count == 480)
        for key in keys { #expect(try await key.stored()?.guesses.count == 3) }
        #expect(Self.tickets(answers).count == 72)
    }
}
