import TestSupport
import Testing
import VaultBiometric

/// The thread that keeps hanging hardware from blocking callers.
@Suite(.timeLimit(.minutes(1))) struct HardwareThreadTests {
    private let clock = HandClock()
    private let gate = ThreadGate()
    private var thread: HardwareThread {
        HardwareThread(
            limit: .seconds(15), clock: clock, late: "It did not answer within \(Duration.seconds(15).inWords).")
    }

    @Test func `when a hardware call hangs, then it times out`() async throws {
        defer { gate.open() }
        let (told, tell) = AsyncStream<Void>.makeStream()
        let (seen, see) = AsyncStream<Bool>.makeStream()
        let error = await #expect(throws: BiometricError.self) {
            try await thread.run {
                tell.finish()
            } _: { [clock, gate] isGivenUp in
                clock.ring()
                gate.pass()
                see.yield(isGivenUp())
            }
        }
        #expect(error?.code == .timedOut)
        #expect(error?.description == "It did not answer within 15 seconds.")
        for await _ in told {}
        gate.open()
        #expect(await seen.first { _ in true } == true)
    }

    @Test func `when a hardware caller is cancelled, then it stops waiting`() async throws {
        defer { gate.open() }
        let (told, tell) = AsyncStream<Void>.makeStream()
        let (reached, reach) = AsyncStream<Void>.makeStream()
        let task = Task { [thread, gate] in
            try await thread.run {
                tell.finish()
            } _: { _ in
                reach.finish()
                gate.pass()
            }
        }
        for await _ in reached {}
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        for await _ in told {}
    }
}
