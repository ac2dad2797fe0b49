import Foundation
import TestSupport
import Testing
import VaultStorage

/// The machine's policy, watched by a program that runs for a long time.
@Suite struct WatchedPolicyTests {
    private let folder = FileManager.default.temporaryDirectory.path() + "watched-policy-\(UUID().uuidString)"
    private var file: String { folder + "/policy.json" }

    /// - Parameter isOld: whether the last change seems to be long ago, so that only a change leads to a reading.
    private func watched(isOld: Bool, tick: (@Sendable () -> Int)? = nil) throws -> WatchedPolicy {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        return WatchedPolicy(file: file, owner: geteuid(), now: { isOld ? .max : 0 }, tick: tick)
    }

    private func write(_ text: String, to path: String? = nil) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path ?? file))
        #expect(chmod(path ?? file, 0o644) == 0)
    }

    @Test(arguments: [true, false])
    func `when the file changes, then the next look sees it`(isOld: Bool) throws {
        let watched = try watched(isOld: isOld)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let first = try watched.current()
        #expect(try first.policy == nil && watched.current().number == first.number)
        try write(#"{"maximum-idle-minutes": 5}"#)
        let second = try watched.current()
        #expect(second.policy?.maximumIdleMinutes == 5 && second.number != first.number)
        // The same size, under the same name.
        try write(#"{"maximum-idle-minutes": 6}"#, to: folder + "/new")
        #expect(rename(folder + "/new", file) == 0)
        #expect(try watched.current().policy?.maximumIdleMinutes == 6)
        #expect(unlink(file) == 0)
        #expect(try watched.current().policy == nil)
    }

    @Test(arguments: [true, false])
    func `when the kernel clock moves, then changes are seen`(isOld: Bool) throws {
        let ticks = Counter()
        let watched = try watched(isOld: isOld, tick: { ticks.value })
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var number = try watched.recentNumber()
        for minutes in 1...3 {
            try write(#"{"maximum-idle-minutes": \#(minutes)}"#)
            #expect(try watched.recentNumber() == number, "The file was read twice in one tick.")
            ticks.increment()
            #expect(try watched.recentNumber() == number + 1)
            #expect(try watched.current().policy?.maximumIdleMinutes == minutes)
            number += 1
        }
    }

    @Test func `when time passes, then the kernel's clock moves`() {
        let first = WatchedPolicy.kernelTick()
        while WatchedPolicy.kernelTick() == first {}
        #expect(WatchedPolicy.kernelTick() > first)
    }

    @Test(arguments: [true, false])
    func `when others may write the folder, then each look fails`(isOld: Bool) throws {
        let watched = try watched(isOld: isOld)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try write("{}")
        let number = try watched.current().number
        #expect(chmod(folder, 0o777) == 0)
        for _ in 0..<2 {
            #expect(throws: VaultError.self) { try watched.current() }
        }
        #expect(chmod(folder, 0o755) == 0)
        #expect(try watched.current().number == number)
    }
}
