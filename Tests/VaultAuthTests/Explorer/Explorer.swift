import Foundation
import VaultLocks

/// A small world of processes. The explorer tries every order of events in it.
///
/// Each run starts from the beginning. A world must not keep anything from an earlier run, and must not use a clock,
/// random decisions or its own tasks.
protocol World: Sendable {
    /// The number of processes.
    var processes: Int { get }
    /// Whether a crash ends all processes at once, as a crash of a server does.
    var crashTakesAll: Bool { get }
    /// The work of a process, from its start. Called again after a crash.
    func live(_ life: Life) async
    /// Called right after processes crashed, before any other process acts.
    func ended(_ lives: [Life])
    /// Called when all processes are done.
    func judge(_ run: Run) async
}

/// One life of a process: from its start to its end or to a crash.
final class Life: Sendable {
    struct Crashed: Error {}

    let process: Int
    let run: Run
    private let alive = Lock(true)

    init(_ process: Int, _ run: Run) {
        self.process = process
        self.run = run
    }

    var isAlive: Bool { alive.withLock { $0 } }
    func end() { alive.withLock { $0 = false } }

    /// Comes before every step that others can notice. Here the others may act first, or this life may end.
    ///
    /// - Parameter isReady: the condition for going on.
    /// - Returns: false if a time limit is over, because everybody waits and nothing else can happen.
    @discardableResult
    func step(_ name: String, when isReady: @escaping @Sendable () -> Bool = { true }) async throws -> Bool {
        guard isAlive else { throw Crashed() }
        return try await withCheckedThrowingContinuation {
            run.wait(.init(life: self, name: name, isReady: isReady, continuation: $0))
        }
    }
}

/// Runs tasks on the explorer's thread, so the explorer knows when all of them wait.
final class Turns: TaskExecutor {
    private let jobs = Lock<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    /// Runs until no work is left.
    func drain() {
        while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}

/// One order of events.
final class Run: Sendable {
    struct Waiting: Sendable {
        let life: Life
        let name: String
        let isReady: @Sendable () -> Bool
        let continuation: CheckedContinuation<Bool, any Error>
    }

    fileprivate struct State {
        var script: [Int]
        var made: [(choice: Int, count: Int)] = []
        var events: [String] = []
        var complaints: [String] = []
        var waiting: [Waiting] = []
        var living: [Life] = []
    }

    private let turns = Turns()
    fileprivate let state: Lock<State>

    /// - Parameter script: the first choices. After them, the run always takes the first event.
    init(_ script: [Int]) { state = Lock(State(script: script)) }

    func note(_ event: String) { state.withLock { $0.events.append(event) } }
    func complain(_ complaint: String) { state.withLock { $0.complaints.append(complaint) } }
    fileprivate func wait(_ waiting: Waiting) { state.withLock { $0.waiting.append(waiting) } }

    /// Chooses one of `count` possible events.
    func choose(_ count: Int) -> Int {
        guard count > 1 else { return 0 }
        return state.withLock { state in
            let index = state.made.count
            let choice = index < state.script.count ? state.script[index] : 0
            if choice >= count { state.complaints.append("The same choices led elsewhere.") }
            state.made.append((min(choice, count - 1), count))
            return min(choice, count - 1)
        }
    }

    fileprivate func play(_ world: some World, crashes: Int) {
        for process in 0..<world.processes { start(process, in: world) }
        var crashes = crashes
        while true {
            let waiting = state.withLock { $0.waiting.sorted { $0.life.process < $1.life.process } }
            if waiting.isEmpty { break }
            var ready = waiting.filter { $0.isReady() }
            let isTimeOver = ready.isEmpty
            if isTimeOver { ready = waiting }
            let victims = crashes == 0 ? [] : world.crashTakesAll ? [waiting[0]] : waiting
            let choice = choose(ready.count + victims.count)
            if choice < ready.count {
                let next = ready[choice]
                note("\(next.life.process): \(next.name)\(isTimeOver ? " (too late)" : "")")
                state.withLock { $0.waiting.removeAll { $0.life === next.life && $0.name == next.name } }
                next.continuation.resume(returning: !isTimeOver)
                turns.drain()
            } else {
                crashes -= 1
                let victim = victims[choice - ready.count].life
                note(world.crashTakesAll ? "crash" : "\(victim.process): crash")
                crash(world.crashTakesAll ? state.withLock { $0.living } : [victim], in: world)
            }
        }
        if !state.withLock({ $0.living.isEmpty }) { complain("Somebody waits for ever.") }
        Task(executorPreference: turns) { await world.judge(self) }
        turns.drain()
    }

    private func start(_ process: Int, in world: some World) {
        let life = Life(process, self)
        state.withLock { $0.living.append(life) }
        Task(executorPreference: turns) {
            await world.live(life)
            if life.isAlive { self.state.withLock { $0.living.removeAll { $0 === life } } }
        }
        turns.drain()
    }

    /// The rest of the victims' code still runs, but each of its steps fails.
    private func crash(_ victims: [Life], in world: some World) {
        for life in victims { life.end() }
        let cutOff = state.withLock { state in
            defer { state.waiting.removeAll { !$0.life.isAlive } }
            state.living.removeAll { !$0.isAlive }
            return state.waiting.filter { !$0.life.isAlive }
        }
        world.ended(victims)
        for waiting in cutOff { waiting.continuation.resume(throwing: Life.Crashed()) }
        turns.drain()
        for life in victims { start(life.process, in: world) }
    }
}

/// Tries every order of events, depth first.
struct Explorer {
    /// The greatest number of crashes in one run.
    var crashes = 1
    /// The greatest number of runs. More runs are a mistake.
    var limit = 200_000

    /// The complaints, and the number of runs.
    struct Findings: Sendable {
        var runs = 0
        /// The first complaints, with the events that led to them.
        var complaints: [String] = []
        var events: [String] = []
    }

    /// Ends with the first run that causes a complaint.
    func explore(_ makeWorld: @escaping @Sendable () throws -> some World) async throws -> Findings {
        // A separate thread, because this takes long.
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try search(makeWorld) }) }
        }
    }

    private func search(_ makeWorld: () throws -> some World) throws -> Findings {
        var (findings, script) = (Findings(), [Int]())
        repeat {
            let run = Run(script)
            run.play(try makeWorld(), crashes: crashes)
            findings.runs += 1
            if findings.runs > limit { run.complain("There are more than \(limit) orders.") }
            var made = [(choice: Int, count: Int)]()
            (findings.complaints, findings.events, made) = run.state.withLock { ($0.complaints, $0.events, $0.made) }
            if !findings.complaints.isEmpty { return findings }
            while let last = made.last, last.choice + 1 == last.count { made.removeLast() }
            script = made.map(\.choice)
            if !script.isEmpty { script[script.count - 1] += 1 }
        } while !script.isEmpty
        return findings
    }
}
