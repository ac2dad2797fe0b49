import Dispatch
import KeyServiceAPI
import KeyServiceTestSupport
import VaultBase
import VaultCrypto

@testable import KeyServiceCore

/// A key service that can crash, its writer, and two who guess at one key: the owner and a thief. All guesses form one
/// queue. A crash costs the guess that was being answered.
///
/// The service is the real one. The owner is a model: a client that may make a new key after wrong guesses, and end the
/// old key. The thief has a copy of the store from the start, and keeps its key. The thief does not know the secret.
final class GuessWorld: World {
    /// A fault that is put back into the product, to check that the explorer finds it.
    enum Fault {
        /// The server answers a right guess before its settling is durable.
        case settlesLate
        /// The client leaves the key as it is after wrong guesses, and the server forgets them.
        case keepsTheKey
    }

    static let limit = 2
    let processes = 4
    let crashTakesAll = true

    private enum Guess { case right, wrong }
    private enum Outcome {
        case right(wrongGuesses: Int)
        case wrong, locked
    }

    private struct State {
        /// The remaining guesses of each.
        var plans: [[Guess]]
        /// The owner's key, and the keys that are not yet ended.
        var ownKey: String
        var toEnd: [String] = []
        var server: Server
        var crashes = 0
        /// Guesses that may count: sent guesses without a later right answer.
        var counting: [Int: Guess] = [:]
        var now: Int64 = 1_800_000_000
        var sent = 0
        /// The thief's evaluated guesses: all of them if the owner makes new keys, otherwise those since a right guess.
        var wrong = 0
    }

    private let store: InMemoryKeyRecordStore
    private let masterKey: MasterKey
    private let keyID: String
    /// Whether the owner's client makes a new key after wrong guesses.
    private let renews: Bool
    private let fault: Fault?
    private let state: Lock<State>
    private static let secrets: [Guess: String] = [
        .right: "cv1." + String(repeating: "A", count: 43), .wrong: "cv1." + String(repeating: "Q", count: 43),
    ]

    /// The data that stays the same between runs: a master key and a key's record.
    struct Prepared: Sendable {
        let masterKey: MasterKey
        let key: StoredKey
        let keyID: String

        init() async throws {
            masterKey = try MasterKey.random()
            let store = InMemoryKeyRecordStore()
            let keeper = KeyKeeper(masterKey, GroupCommit(store: store), now: { 1_800_000_000 })
            keyID = try await keeper.createKey(
                secret: GuessWorld.secrets[.right] ?? "", deadline: .now + .seconds(600)
            ).keyid
            let made = store.content.withLock { $0.rows.values.first?.key }
            guard let made else { throw KeyServiceServerError.noSuchKey }
            key = made
        }
    }

    /// - Parameters:
    ///   - logins: the number of the owner's logins.
    ///   - thefts: the number of the thief's guesses.
    init(_ prepared: Prepared, renews: Bool, logins: Int, thefts: Int, fault: Fault? = nil) throws {
        let disk = InMemoryKeyRecordStore(limits: GuessLimits(inARow: GuessWorld.limit, inAll: 100))
        let key = prepared.key
        disk.commitNow([KeyUpdate(key.record.id, .add) { stored, _ in stored = key }])
        store = disk
        (masterKey, keyID) = (prepared.masterKey, prepared.keyID)
        (self.renews, self.fault) = (renews, fault)
        state = Lock(
            State(
                plans: [Array(repeating: .right, count: logins), Array(repeating: .wrong, count: thefts)],
                ownKey: prepared.keyID,
                server: Server(store: disk, masterKey: prepared.masterKey, fault: fault, now: 1_800_000_000)))
    }

    func live(_ life: Life) async {
        do {
            switch life.process {
            case 0: while try await logIn(life) {}
            case 1: while try await guess(life, at: keyID) != nil {}
            case 2: while try await write(life, "write", isDelayed: false) {}
            default: while try await write(life, "write in time", isDelayed: true) {}
            }
        } catch {
            // The server went down.
        }
    }

    func ended(_ lives: [Life]) {
        let old = state.withLock { state in
            state.crashes += 1
            // Until then, a guess of the old server might be right.
            state.now += StoredKey.evaluationTime + 1
            defer {
                state.server = Server(
                    store: store, masterKey: masterKey, fault: state.server.fault, now: state.now)
            }
            return state.server
        }
        old.crash()
    }

    func judge(_ run: Run) async {}

    // MARK: - The guessers

    /// - Returns: false when the owner has logged in often enough.
    private func logIn(_ life: Life) async throws -> Bool {
        let key = state.withLock { $0.ownKey }
        guard let outcome = try await guess(life, at: key) else { return false }
        if renews, fault != .keepsTheKey, case .right(let wrongGuesses) = outcome, wrongGuesses > 0 {
            let server = state.withLock { $0.server }
            let new = try await server.keeper.createKey(
                secret: Self.secrets[.right] ?? "", deadline: .now + .seconds(600)
            ).keyid
            try await life.step("store the new key")
            state.withLock { state in
                (state.ownKey, state.toEnd) = (new, state.toEnd + [state.ownKey])
                state.counting = [:]
            }
        }
        while let old = state.withLock({ $0.toEnd.first }) {
            try await life.step("end the old key")
            if case .locked = try await ask(old, .wrong) { state.withLock { _ = $0.toEnd.removeFirst() } }
        }
        return true
    }

    /// The next guess of the plan. Nil if no guess is left.
    private func guess(_ life: Life, at key: String) async throws -> Outcome? {
        guard state.withLock({ !$0.plans[life.process].isEmpty }) else { return nil }
        try await life.step("guess")
        let (guess, number) = state.withLock { state in
            state.sent += 1
            state.counting[state.sent] = state.plans[life.process][0]
            return (state.plans[life.process].removeFirst(), state.sent)
        }
        let outcome = try await ask(key, guess)
        switch outcome {
        case .right:
            if !renews { state.withLock { $0.wrong = 0 } }
            try await life.step("right")
            // Guesses that were sent before and are answered now cannot count any more. The others still may.
            if !renews { state.withLock { state in state.counting = state.counting.filter { $0.key > number } } }
        case .wrong:
            let wrong = state.withLock { state in
                state.wrong += 1
                return state.wrong
            }
            if wrong > Self.limit { life.run.complain("\(wrong) wrong guesses were evaluated.") }
        case .locked:
            let (counting, crashes) = state.withLock { state in
                state.counting[number] = nil
                return (state.counting.count, state.crashes)
            }
            life.run.note("\(life.process): locked")
            // A crash may cost one guess. A charge that is alone on the key is settled after the answer.
            if life.process == 0, counting + crashes < Self.limit {
                life.run.complain("Locked after a right answer and \(counting) guesses.")
            }
        }
        return outcome
    }

    private func ask(_ key: String, _ guess: Guess) async throws -> Outcome {
        let server = state.withLock { $0.server }
        do {
            let response = try await server.keeper.releaseKey(
                keyID: key, for: .secret(Self.secrets[guess] ?? "", renews: renews && fault != .keepsTheKey),
                deadline: .now + .seconds(600))
            return .right(wrongGuesses: response.wrongGuesses ?? 0)
        } catch let error as KeyServiceServerError where error.code == .wrongSecret {
            return .wrong
        } catch let error as KeyServiceServerError where error.code == .keyLocked {
            return .locked
        }
    }

    // MARK: - The server

    private func write(_ life: Life, _ name: String, isDelayed: Bool) async throws -> Bool {
        let list = state.withLock { $0.server.list }
        // False if nobody is left who could hand in work.
        guard try await life.step(name, when: { !list.isEmpty(isDelayed) }) else { return false }
        list.next(isDelayed)?()
        return true
    }

    /// The queue of the writer. The explorer chooses its next work.
    private final class WorkList: WriterQueue {
        private let work = Lock<[(isDelayed: Bool, work: @Sendable () -> Void)]>([])

        func run(after delay: DispatchTimeInterval?, _ work: @escaping @Sendable () -> Void) {
            self.work.withLock { $0.append((delay != nil, work)) }
        }

        func isEmpty(_ isDelayed: Bool) -> Bool { work.withLock { !$0.contains { $0.isDelayed == isDelayed } } }

        func next(_ isDelayed: Bool) -> (@Sendable () -> Void)? {
            work.withLock { list in
                list.firstIndex { $0.isDelayed == isDelayed }.map { list.remove(at: $0).work }
            }
        }
    }

    private final class Server: Sendable {
        let list = WorkList()
        let keeper: KeyKeeper
        let fault: Fault?
        private let gate: Gate

        init(store: any KeyRecordStore, masterKey: MasterKey, fault: Fault?, now: Int64) {
            self.fault = fault
            gate = Gate(base: store, fault: fault)
            keeper = KeyKeeper(masterKey, GroupCommit(store: gate, queue: list), now: { now })
        }

        /// Everybody who waits for the writer learns that it is gone. Nothing is written any more.
        func crash() {
            gate.isOpen.withLock { $0 = false }
            while let next = list.next(false) { next() }
        }
    }

    /// The connection from a server to its disk.
    private final class Gate: KeyRecordStore {
        let isOpen = Lock(true)
        private let base: any KeyRecordStore
        private let fault: Fault?
        private let late = Lock<[KeyUpdate]>([])

        init(base: any KeyRecordStore, fault: Fault?) {
            self.base = base
            self.fault = fault
        }

        func commit(
            _ updates: [KeyUpdate], lane: Int, deadline: ContinuousClock.Instant
        ) async -> [Result<Void, any Error>] {
            guard isOpen.withLock({ $0 }) else { return updates.map { _ in .failure(KeyServiceServerError.busy) } }
            guard fault == .settlesLate else { return await base.commit(updates, lane: lane, deadline: deadline) }
            // What takes a guess back is reported as durable, but becomes durable only with the next batch.
            let earlier = late.withLock { late in
                defer { late = [] }
                return late
            }
            _ = await base.commit(earlier, lane: lane, deadline: deadline)
            var results: [Result<Void, any Error>] = []
            for update in updates { results.append(await commit(update, lane, deadline)) }
            return results
        }

        private func commit(
            _ update: KeyUpdate, _ lane: Int, _ deadline: ContinuousClock.Instant
        ) async -> Result<Void, any Error> {
            let isReported = KeyUpdate(update.keyID, update.purpose) { [self] key, limits in
                let before = key
                try update.apply(&key, limits)
                guard let old = before, let new = key, new.guesses.count < old.guesses.count else { return }
                late.withLock { $0.append(update) }
                key = before
            }
            return await base.commit([isReported], lane: lane, deadline: deadline)[0]
        }

        func checkIn(_ checkIn: ServerCheckIn, deadline: ContinuousClock.Instant) async throws -> StoreState {
            try await base.checkIn(checkIn, deadline: deadline)
        }
    }
}

extension KeyKeeper {
    fileprivate init(_ masterKey: MasterKey, _ commits: GroupCommit, now: @escaping @Sendable () -> Int64) {
        self.init(
            masterKeys: MasterKeys(masterKey), commits: commits, stretching: StretchingPool(threads: 1, maxRequests: 1),
            argon2: .insecureForTests, now: now)
    }
}
