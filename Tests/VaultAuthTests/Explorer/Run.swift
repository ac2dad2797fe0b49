import TestSupport
import VaultBase

/// One order of events.
final class Run: Sendable {
    /// The source of the choices.
    enum Choices: Sendable {
        /// The first choices. After them, the run always takes the first event.
        case script([Int])
        /// - stays: how many of 8 times the same process goes on. So the others rest long, and may miss changes.
        case random(SeededGenerator, stays: Int)
    }

    struct Waiting: Sendable {
        let number: Int
        let life: Life
        let name: String
        let isReady: @Sendable () -> Bool
        let continuation: CheckedContinuation<Bool, any Error>
    }

    /// The outcome of a run.
    struct Record: Sendable {
        var made: [(choice: Int, count: Int)] = []
        var events: [String] = []
        var complaints: [String] = []
    }

    private struct State {
        var choices: Choices
        var record = Record()
        var waiting: [Waiting] = []
        var steps = 0
        var living: [Life] = []
        /// The lives whose code still runs. The code of a crashed life runs until it notices the crash.
        var running: [Life] = []
        var isJudged = false

        /// Whether the code of each process waits, so the next event can be chosen.
        var isSettled: Bool { running.allSatisfy { life in life.isAlive && waiting.contains { $0.life === life } } }
    }

    private let turns = Turns()
    private let state: Lock<State>

    init(_ choices: Choices) { state = Lock(State(choices: choices)) }

    var record: Record { state.withLock { $0.record } }
    func note(_ event: String) { state.withLock { $0.record.events.append(event) } }
    func complain(_ complaint: String) { state.withLock { $0.record.complaints.append(complaint) } }

    /// Tells the explorer that a condition may have changed.
    func wake() { turns.wake() }

    func wait(
        _ life: Life, _ name: String, _ isReady: @escaping @Sendable () -> Bool,
        _ continuation: CheckedContinuation<Bool, any Error>
    ) {
        let isTaken = state.withLock { state in
            // A task beside the others may come just after the crash.
            guard life.isAlive else { return false }
            state.steps += 1
            state.waiting.append(
                Waiting(
                    number: state.steps, life: life, name: name, isReady: isReady, continuation: continuation))
            return true
        }
        guard isTaken else { return continuation.resume(throwing: Life.Crashed()) }
        turns.wake()
    }

    /// Chooses one of `count` possible events.
    func choose(_ count: Int) -> Int {
        guard count > 1 else { return 0 }
        return state.withLock { state in
            switch state.choices {
            case .random(var generator, let stays):
                let choice = Int.random(in: 0..<count, using: &generator)
                state.choices = .random(generator, stays: stays)
                return choice
            case .script(let script):
                let index = state.record.made.count
                let choice = index < script.count ? script[index] : 0
                if choice >= count { state.record.complaints.append("The same choices led elsewhere.") }
                state.record.made.append((min(choice, count - 1), count))
                return min(choice, count - 1)
            }
        }
    }

    /// Whether a crash is among the next possible events. In a random order it comes seldom, because a process that
    /// crashes at once shows little.
    private func mayCrash() -> Bool {
        guard case .random = state.withLock({ $0.choices }) else { return true }
        return choose(60) == 0
    }

    /// Returns the events to choose from: in a random order, often only those of the process that acted last.
    private func preferred(_ ready: [Waiting], after last: Int?) -> [Waiting] {
        guard case .random(_, let stays) = state.withLock({ $0.choices }), choose(8) < stays else { return ready }
        let own = ready.filter { $0.life.process == last }
        return own.isEmpty ? ready : own
    }

    func play(_ world: some World, crashes: Int) {
        var last: Int?
        for process in 0..<world.processes { start(process, in: world) }
        var crashes = crashes
        while true {
            let waiting = state.withLock { state in
                state.waiting.sorted { ($0.life.process, $0.name, $0.number) < ($1.life.process, $1.name, $1.number) }
            }
            if waiting.isEmpty { break }
            var ready = waiting.filter { $0.isReady() }
            let isTimeOver = ready.isEmpty
            if isTimeOver {
                guard !world.worksElsewhere else {
                    let steps = state.withLock { $0.steps }
                    turns.run { state.withLock { $0.steps != steps } || waiting.contains { $0.isReady() } }
                    continue
                }
                ready = waiting
            }
            ready = preferred(ready, after: last)
            let victims = crashes == 0 || !mayCrash() ? [] : world.crashTakesAll ? [waiting[0]] : waiting
            let choice = choose(ready.count + victims.count)
            if choice < ready.count {
                let next = ready[choice]
                last = next.life.process
                note("\(next.life.process): \(next.name)\(isTimeOver ? " (too late)" : "")")
                state.withLock { $0.waiting.removeAll { $0.number == next.number } }
                next.continuation.resume(returning: !isTimeOver)
                settle(world)
            } else {
                crashes -= 1
                let victim = victims[choice - ready.count].life
                note(world.crashTakesAll ? "crash" : "\(victim.process): crash")
                crash(world.crashTakesAll ? state.withLock { $0.living } : [victim], in: world)
            }
        }
        if !state.withLock({ $0.living.isEmpty }) { complain("Somebody waits for ever.") }
        Task(executorPreference: turns) {
            await world.judge(self)
            self.state.withLock { $0.isJudged = true }
            self.turns.wake()
        }
        turns.run { !world.worksElsewhere || state.withLock { $0.isJudged } }
    }

    private func settle(_ world: some World) {
        turns.run { !world.worksElsewhere || state.withLock { $0.isSettled } }
    }

    private func start(_ process: Int, in world: some World) {
        let life = Life(process, self)
        state.withLock { state in
            state.living.append(life)
            state.running.append(life)
        }
        Task(executorPreference: turns) {
            await world.live(life)
            self.state.withLock { state in
                if life.isAlive { state.living.removeAll { $0 === life } }
                state.running.removeAll { $0 === life }
            }
            self.turns.wake()
        }
        settle(world)
    }

    /// Ends lives and starts their processes again. The code of an ended life still runs, but each of its steps fails.
    private func crash(_ victims: [Life], in world: some World) {
        let cutOff = state.withLock { state in
            for life in victims { life.end() }
            defer { state.waiting.removeAll { !$0.life.isAlive } }
            state.living.removeAll { !$0.isAlive }
            return state.waiting.filter { !$0.life.isAlive }
        }
        world.ended(victims)
        for waiting in cutOff { waiting.continuation.resume(throwing: Life.Crashed()) }
        settle(world)
        for life in victims { start(life.process, in: world) }
    }
}
