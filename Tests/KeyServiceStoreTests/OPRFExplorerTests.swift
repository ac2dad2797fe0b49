import KeyServiceTestSupport
import Testing
import VaultBase

@testable import KeyServiceCore

/// Random runs of the rules of the protocol's version 2: an owner whose machine is killed at any step and whose answers
/// get lost, and a thief with copies of the owner's disk and all recorded requests. There are no curves and no
/// signatures: a confirm that is signed can be repeated, but not made by others.
@Suite struct OPRFExplorerTests {
    private static let seeds: Range<UInt64> = 0..<250

    @Test func `when a thief interferes, then three guesses are the most`() {
        var most = 0
        for seed in Self.seeds {
            var run = Run(seed: seed, hasThief: true)
            run.explore()
            most = max(most, run.thiefGuesses.values.map(\.count).max() ?? 0)
            #expect(run.faults.isEmpty, "seed \(seed)")
        }
        #expect(most == 3, "the thief uses all guesses, and has no more")
    }

    @Test func `when no thief interferes, then no right login is refused`() {
        var (logins, newSlots) = (0, 0)
        var lockedOut: [UInt64: Int] = [:]
        for seed in Self.seeds {
            var run = Run(seed: seed, hasThief: false)
            run.explore()
            #expect(run.faults.isEmpty, "seed \(seed)")
            if run.lockedOut > 0 { lockedOut[seed] = run.lockedOut }
            logins += run.logins
            newSlots += run.newSlots
        }
        #expect(lockedOut.isEmpty, "refused right logins, by seeds")
        #expect(logins > 5000, "most logins succeed")
        #expect(newSlots > 100, "guesses of killed logins lead to new slots")
    }
}

private typealias Key = OPRFTestKey

/// The same numbers for each run of the tests.
private struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

private struct Confirm {
    let key: Key
    let tickets: [[UInt8]]
}

/// What survives when the owner's machine is killed.
private struct Disk {
    var slot: Key
    var pending: [Confirm] = []
    var ownGuesses: Set<[UInt8]> = []
    var toEnd: [String] = []
}

private enum Outcome: Equatable {
    case right, wrong, lost
    case refused(StoredKey.Refusal)
}

/// The owner's machine was killed.
private struct Killed: Error {}

private struct Run {
    private static let minute: Int64 = 60

    private let hasThief: Bool
    private let test = TestStore(store: InMemoryKeyRecordStore())
    private var random: SeededGenerator
    private var now = TestStore.now
    private var disk: Disk
    /// The steps until the owner's machine is killed; nil for never.
    private var stepsLeft: Int?
    private var lossesInARow = 0

    private var copies: [Disk] = []
    private var recordedConfirms: [Confirm] = []
    private var recordedElements: [(id: String, blinded: [UInt8])] = []

    /// The thief's elements that were evaluated, by keys.
    private(set) var thiefGuesses: [String: Set<[UInt8]>] = [:]
    private(set) var faults: [String] = []
    private(set) var lockedOut = 0
    private(set) var logins = 0
    private(set) var newSlots = 0

    init(seed: UInt64, hasThief: Bool) {
        self.hasThief = hasThief
        random = SeededGenerator(state: seed)
        disk = Disk(slot: Key(test))
        _ = serve(disk.slot.id, mayAdd: true, disk.slot.creation)
        _ = serve(disk.slot.id, disk.slot.confirmation([disk.slot.new.guesses[0].ticket]))
    }

    mutating func explore() {
        var isAfterFault = false
        for _ in 0..<60 {
            now += [0, 1, 30].randomElement(using: &random) ?? 0
            if hasThief, chance(0.4) {
                steal()
            } else {
                isAfterFault = ownersTurn(mayFail: hasThief || !isAfterFault)
            }
            for key in test.memory.oprfKeys where key.guesses.count > 3 {
                faults.append("\(key.guesses.count) guesses")
            }
        }
    }

    private mutating func chance(_ part: Double) -> Bool { Double.random(in: 0..<1, using: &random) < part }

    // MARK: - The service

    private func serve(_ id: String, mayAdd: Bool = false, _ call: @escaping Key.Call) -> Key.Answer {
        let answer = Key.LastAnswer()
        _ = test.memory.commitNow([Key.update(id, mayAdd: mayAdd, into: answer, call)])
        return answer.value
    }

    private func guesses(_ id: String) -> [StoredKey.Guess] {
        test.memory.oprfKeys.first { $0.record.id == id }?.guesses ?? []
    }

    /// A call of the owner. The request or its answer may get lost, or the service is killed before it answers.
    private mutating func call(_ id: String, mayAdd: Bool = false, _ call: @escaping Key.Call) -> Key.Answer? {
        let (requestIsLost, answerIsLost) = (chance(0.1), chance(0.15))
        let mayLose = hasThief || lossesInARow < 2
        lossesInARow = mayLose && (requestIsLost || answerIsLost) ? lossesInARow + 1 : 0
        if mayLose, requestIsLost { return nil }
        let answer = serve(id, mayAdd: mayAdd, call)
        return mayLose && answerIsLost ? nil : answer
    }

    // MARK: - The owner

    /// - Returns: whether a guess may be left that the owner's machine does not know, or that is wrong.
    private mutating func ownersTurn(mayFail: Bool) -> Bool {
        let isTypo = mayFail && chance(0.15)
        stepsLeft = mayFail && !isTypo && chance(0.3) ? Int.random(in: 1...16, using: &random) : nil
        do {
            var outcome = try login(isRight: !isTypo)
            while outcome == .refused(.busy), !hasThief {
                now += 11
                outcome = try login(isRight: !isTypo)
            }
            switch outcome {
            case .right: logins += 1
            case .wrong, .lost: break
            case .refused:
                if !isTypo { lockedOut += 1 }
            }
            return outcome != .right
        } catch {
            // The machine starts again.
            now += Self.minute + 1
            return true
        }
    }

    private mutating func step() throws(Killed) {
        guard let left = stepsLeft else { return }
        stepsLeft = left - 1
        if left <= 1 { throw Killed() }
    }

    private mutating func login(isRight: Bool) throws(Killed) -> Outcome {
        try step()
        try endListed()
        try sendConfirms()
        let slot = disk.slot
        let blinded = Key.random(32)
        var found: StoredKey.Guess?
        var open: [StoredKey.Guess] = []
        for _ in 0..<3 where found == nil {
            recordedElements.append((slot.id, blinded))
            let answer = call(slot.id, Key.evaluation(blinded, at: now))
            try step()
            switch answer {
            case .tried:
                open = guesses(slot.id)
                found = open.first { $0.blinded == blinded }
            case .refused(let refusal): return .refused(refusal)
            case nil: continue
            case .done, .exists, .unauthorized: faults.append("the key is gone")
            }
        }
        guard let tried = found else { return .lost }
        guard isRight else {
            disk.ownGuesses.insert(tried.ticket)
            return .wrong
        }
        disk.pending.append(Confirm(key: slot, tickets: [tried.ticket] + disk.ownGuesses))
        try step()
        let foreign = open.contains { other in
            other.ticket != tried.ticket && !disk.ownGuesses.contains(other.ticket)
                && other.openedAt < tried.openedAt - Self.minute
        }
        try sendConfirms()
        if foreign { try makeNewSlot() }
        return .right
    }

    private mutating func sendConfirms() throws(Killed) {
        for confirm in disk.pending {
            recordedConfirms.append(confirm)
            let answer = call(confirm.key.id, confirm.key.confirmation(confirm.tickets, at: now))
            try step()
            switch answer {
            case .done, .refused(.gone):
                disk.pending.removeFirst()
                disk.ownGuesses.subtract(confirm.tickets)
                try step()
            case nil: return
            default: faults.append("a confirm has the answer \(String(describing: answer))")
            }
        }
    }

    private mutating func makeNewSlot() throws(Killed) {
        let new = Key(test, createdAt: now)
        disk.toEnd.append(new.id)
        try step()
        guard try insist(new.id, mayAdd: true, new.creation) == .done else { return }
        try step()
        let first = Confirm(key: new, tickets: [new.new.guesses[0].ticket])
        recordedConfirms.append(first)
        guard try insist(new.id, new.confirmation(first.tickets, at: now)) == .done else { return }
        try step()
        disk.toEnd.removeAll { $0 == new.id }
        disk.toEnd.append(disk.slot.id)
        (disk.slot, disk.ownGuesses) = (new, [])
        newSlots += 1
        try step()
        try endListed()
    }

    /// Repeats a call whose answer is lost, twice at most.
    private mutating func insist(
        _ id: String, mayAdd: Bool = false, _ call: @escaping Key.Call
    ) throws(Killed) -> Key.Answer? {
        for _ in 0..<3 {
            let answer = self.call(id, mayAdd: mayAdd, call)
            try step()
            if let answer { return answer }
        }
        return nil
    }

    private mutating func endListed() throws(Killed) {
        for id in disk.toEnd {
            guard call(id, Key.ending) != nil else { return }
            try step()
            disk.toEnd.removeAll { $0 == id }
            try step()
        }
    }

    // MARK: - The thief

    private mutating func steal() {
        if copies.isEmpty || chance(0.1) { copies.append(disk) }
        guard let copy = copies.randomElement(using: &random) else { return }
        // What was recorded or copied can be sent again.
        for confirm in recordedConfirms.shuffled(using: &random).prefix(4) + copy.pending {
            _ = serve(confirm.key.id, confirm.key.confirmation(confirm.tickets, at: now))
        }
        for (id, blinded) in recordedElements.shuffled(using: &random).prefix(chance(0.3) ? 2 : 0) {
            _ = serve(id, Key.evaluation(blinded, at: now))
        }
        let id = copy.slot.id
        let guess = chance(0.2) ? thiefGuesses[id]?.first ?? Key.random(32) : Key.random(32)
        if case .tried = serve(id, Key.evaluation(guess, at: now)) { thiefGuesses[id, default: []].insert(guess) }
    }
}

extension TestStore {
    fileprivate var memory: InMemoryKeyRecordStore {
        store as? InMemoryKeyRecordStore ?? InMemoryKeyRecordStore()
    }
}

extension InMemoryKeyRecordStore {
    fileprivate var oprfKeys: [StoredKey] { content.withLock { $0.rows.values.map(\.key) } }
}
