import Foundation
import Synchronization
import Testing
import VaultBackground

/// The number of calls of the handler that a program had before.
private let ownHandlerCalls = Atomic(0)

/// Each test runs in its own program. An outside process stops it and lets it continue.
@Suite(.timeLimit(.minutes(1))) struct StopSignalTests {
    @Test func `when a stop signal comes, then listeners hear it first`() async {
        await #expect(processExitsWith: .success) {
            let program = try Program()
            let changes = StopSignalMonitor().changes()
            try program.letSomebodyStopMe()
            var iterator = changes.makeAsyncIterator()
            #expect(await iterator.next() == .entered)
            try program.note("told")
            #expect(await iterator.next() == .left)
            #expect(try program.whatWasNotedWhenStopped() == ["told"])
        }
    }

    @Test func `when monitors have many listeners, then each hears every stop`() async {
        await #expect(processExitsWith: .success) {
            let program = try Program()
            let streams = [StopSignalMonitor(), StopSignalMonitor()].map { $0.changes() }
            for _ in 0..<2 {
                try program.letSomebodyStopMe()
                let stays = await withTaskGroup { group in
                    for stream in streams {
                        group.addTask { await stream.prefix(2).reduce(into: []) { $0.append($1) } }
                    }
                    return await group.reduce(into: []) { $0.append($1) }
                }
                #expect(stays == [[.entered, .left], [.entered, .left]])
                await program.waitForSomebody()
            }
        }
    }

    @Test func `when a listener reads nothing, then the program still stops`() async {
        await #expect(processExitsWith: .success) {
            let program = try Program()
            let changes = StopSignalMonitor().changes()
            try program.letSomebodyStopMe()
            await program.waitForSomebody()
            #expect(try program.whatWasNotedWhenStopped().isEmpty, "it was stopped")
            #expect(await changes.prefix(2).reduce(into: []) { $0.append($1) } == [.entered, .left])
        }
    }

    @Test func `when no listener exists, then the program stops as usual`() async {
        await #expect(processExitsWith: .success) {
            let program = try Program()
            do { _ = StopSignalMonitor().changes() }
            #expect(Program.stopSignalAction == nil)
            try program.letSomebodyStopMe()
            await program.waitForSomebody()
            #expect(try program.whatWasNotedWhenStopped().isEmpty, "it was stopped")
            let again = StopSignalMonitor().changes()
            #expect(Program.stopSignalAction != nil)
            try program.letSomebodyStopMe()
            #expect(await again.prefix(2).reduce(into: []) { $0.append($1) } == [.entered, .left])
        }
    }

    @Test func `when stop signals are ignored, then monitoring keeps them ignored`() async {
        await #expect(processExitsWith: .success) {
            _ = try Program()
            signal(SIGTSTP, SIG_IGN)
            let changes = StopSignalMonitor().changes()
            #expect(Program.stopSignalAction == 1)
            withExtendedLifetime(changes) {}
        }
    }

    @Test func `when the program has a handler, then stopping calls it`() async {
        await #expect(processExitsWith: .success) {
            _ = try Program()
            signal(SIGTSTP) { _ in ownHandlerCalls.add(1, ordering: .relaxed) }
            let before = Program.stopSignalAction
            var changes: AsyncStream<BackgroundChange>? = StopSignalMonitor().changes()
            for calls in 1...2 {
                kill(getpid(), SIGTSTP)
                #expect(await changes?.prefix(2).reduce(into: []) { $0.append($1) } == [.entered, .left])
                #expect(ownHandlerCalls.load(ordering: .relaxed) == calls)
            }
            changes = nil
            #expect(Program.stopSignalAction == before)
        }
    }

    @Test func `when a stopped program continues, then the stopped time counts`() async {
        await #expect(processExitsWith: .success) {
            let program = try Program()
            let (events, log) = AsyncStream.makeStream(of: String.self)
            let timeout = BackgroundTimeout(
                duration: .milliseconds(250), monitors: [StopSignalMonitor()], isLoggedIn: { true },
                lock: { log.yield("locked") }, handler: { log.yield("handled") })
            try program.letSomebodyStopMe(forSeconds: 0.3)
            #expect(await events.prefix(2).reduce(into: []) { $0.append($1) } == ["locked", "handled"])
            await program.waitForSomebody()
            await timeout.disable()
            log.finish()
            #expect(await events.first { _ in true } == nil)
        }
    }
}

/// The program that runs a test.
private final class Program {
    private let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    private var somebody: AsyncStream<Void>?

    /// Makes the process one that a shell could stop: in its own process group, with the default action for the signal.
    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        guard setpgid(0, 0) == 0 else { throw POSIXError(.EPERM) }
        signal(SIGTSTP, SIG_DFL)
        // A program that hangs must not outlive the tests.
        alarm(50)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// The address of the process's handler; 1 stands for ignoring.
    static var stopSignalAction: Int? {
        var action = sigaction()
        sigaction(SIGTSTP, nil, &action)
        return action.__sigaction_handler.sa_handler.map { unsafeBitCast($0, to: Int.self) }
    }

    /// Lets another process do the steps of Ctrl-Z and `fg`.
    func letSomebodyStopMe(forSeconds seconds: Double = 0) throws {
        let script = """
            kill -TSTP "$1"
            until [ "$state" = T ]; do read -r _ _ state _ <"/proc/$1/stat" || exit; done
            ls "$2" >"$2.seen"
            mv "$2.seen" "$2/seen"
            sleep "$3"
            kill -CONT "$1"
            """
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", script, "sh", "\(getpid())", folder.path, "\(seconds)"]
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in end.finish() }
        try process.run()
        somebody = ended
    }

    func waitForSomebody() async {
        guard let somebody else { return }
        for await _ in somebody {}
    }

    func note(_ name: String) throws { try Data().write(to: folder.appending(path: name)) }

    func whatWasNotedWhenStopped() throws -> [String] {
        try String(contentsOf: folder.appending(path: "seen"), encoding: .utf8).split(separator: "\n").map(String.init)
    }
}
