import Dispatch
import Testing
import VaultBase

@testable import KeyServiceCore

/// A high-water mark on a disk that hangs.
@Suite(.timeLimit(.minutes(1))) struct HighWaterMarkTests {
    /// A disk whose first write waits at a gate.
    private final class Disk: Sendable {
        private let written = Lock<[Int64]>([])
        let gate = DispatchSemaphore(value: 0)
        let arrivals: AsyncStream<Void>
        private let arrival: AsyncStream<Void>.Continuation

        init() { (arrivals, arrival) = AsyncStream.makeStream(of: Void.self) }

        var generations: [Int64] { written.withLock { $0 } }

        func write(_ level: HighWaterMark.Level) {
            let isFirst = written.withLock { written in
                written.append(level.generation)
                return written.count == 1
            }
            arrival.yield()
            if isFirst { gate.wait() }
        }
    }

    private static func state(_ generation: Int64) -> StoreState {
        StoreState(storeID: [1], generation: generation, limits: GuessLimits(), masterKeys: [])
    }

    @Test func `when a write hangs, then callers wait no longer`() async throws {
        let folder = try TemporaryFolder()
        let disk = Disk()
        let mark = try HighWaterMark(path: folder.path + "/mark") { level, _ in disk.write(level) }
        async let first: Void = mark.raise(to: Self.state(1), deadline: .now + .seconds(60))
        for await _ in disk.arrivals { break }
        for generation in 2...50 {
            let error = await #expect(throws: KeyServiceServerError.self) {
                try await mark.raise(to: Self.state(Int64(generation)), deadline: .now + .milliseconds(1))
            }
            #expect(error?.code == .busy)
        }
        #expect(disk.generations == [1], "one write at a time")
        #expect(mark.generation == 0)
        disk.gate.signal()
        try await first
        try await mark.raise(to: Self.state(51))
        #expect(mark.generation == 51)
        #expect(disk.generations.count <= 3, "the newest level replaces those that waited")
    }

    @Test func `when a write fails, then its callers hear of it`() async throws {
        struct Full: Error {}
        let folder = try TemporaryFolder()
        let mark = try HighWaterMark(path: folder.path + "/mark") { _, _ in throw Full() }
        await #expect(throws: Full.self) { try await mark.raise(to: Self.state(1)) }
        #expect(mark.generation == 0)
    }

    @Test func `when levels come out of order, then the mark rises`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/mark"
        let mark = try HighWaterMark(path: path)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for generation in (1...200).shuffled() {
                group.addTask { try await mark.raise(to: Self.state(Int64(generation))) }
            }
            try await group.waitForAll()
        }
        #expect(mark.generation == 200)
        #expect(try HighWaterMark(path: path).generation == 200, "the file has the same level")
    }
}
