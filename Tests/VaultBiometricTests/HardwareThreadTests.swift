import Foundation
import Testing

@testable import VaultBiometric

@Suite struct HardwareThreadTests {
    @Test func `it runs everything on one thread, in the order in which it came`() async throws {
        let thread = HardwareThread()
        let (stream, continuation) = AsyncStream.makeStream(of: (Int, pthread_t).self)
        for number in 0..<100 {
            thread.run { continuation.yield((number, pthread_self())) }
        }
        var seen: [(Int, pthread_t)] = []
        for await call in stream {
            seen.append(call)
            if seen.count == 100 { break }
        }
        #expect(seen.map(\.0) == Array(0..<100))
        #expect(Set(seen.map(\.1)).count == 1)
    }

    @Test func `it does what is left when nobody holds it any more`() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
        for number in 0..<3 {
            // Each goes away at once.
            HardwareThread().run { continuation.yield(number) }
        }
        var seen: Set<Int> = []
        for await number in stream {
            seen.insert(number)
            if seen.count == 3 { break }
        }
        #expect(seen == [0, 1, 2])
    }
}
