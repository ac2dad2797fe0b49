internal import Foundation
internal import VaultBase

/// The machine's policy for a program that runs for a long time, such as the agent. Each look notices a change, and only
/// then reads the file again: a look at an unchanged file costs two calls of stat(2).
package final class WatchedPolicy: Sendable {
    package struct Reading: Sendable {
        /// Nil if the machine has no policy.
        package let policy: VaultPolicy?
        /// A number that changes with the policy.
        package let number: Int
    }

    private let file: String
    private let folder: String
    private let owner: UInt32
    private let now: @Sendable () -> Int
    private let tick: (@Sendable () -> Int)?
    /// The last policy that could be read, and the tick of the last look at it. A wrong file is read again at each look.
    private let known = Lock<(stamp: Stamp, tick: Int?, reading: Reading)?>(nil)

    /// - Parameters:
    ///   - owner: the user id that must own the file and its folder.
    ///   - now: returns the Unix time, by the clock that the kernel uses for files.
    ///   - tick: returns a number that changes when ``recent()`` must look at the file again; nil to look each time.
    package init(
        file: String = VaultPolicy.machineFile, owner: UInt32 = 0, now: @escaping @Sendable () -> Int = { time(nil) },
        tick: (@Sendable () -> Int)? = WatchedPolicy.kernelTick
    ) {
        self.file = file
        folder = (file as NSString).deletingLastPathComponent
        self.owner = owner
        self.now = now
        self.tick = tick
    }

    /// The kernel's coarse clock. It moves with each tick, and costs no system call.
    package static let kernelTick: @Sendable () -> Int = {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    /// A number that stays the same for at most 10 milliseconds; nil if each use must look at the file.
    var presentTick: Int? { tick?() }

    /// Returns the policy that is in force now.
    ///
    /// - Throws: as ``VaultPolicy/ofMachine()``.
    package func current() throws -> Reading {
        let tick = tick?()
        // Before the file is read, so that a change in between gives another stamp.
        let stamp = Stamp(file: FileStamp(file), folder: FileStamp(folder))
        let unchanged: Reading? = known.withLock { known in
            guard known?.stamp == stamp, stamp.changed < now() - 1 else { return nil }
            known?.tick = tick
            return known?.reading
        }
        if let unchanged { return unchanged }
        let policy = try VaultPolicy.ofMachine(file: file, owner: owner)
        return known.withLock { known in
            let number = known.map { $0.reading.policy == policy ? $0.reading.number : $0.reading.number + 1 } ?? 0
            let reading = Reading(policy: policy, number: number)
            known = (stamp, tick, reading)
            return reading
        }
    }

    /// Returns the policy that was in force at most 10 milliseconds ago: it looks at the file only once in a tick of the
    /// kernel's clock. Each use of a session calls this, so it must cost little.
    ///
    /// - Throws: as ``current()``.
    package func recent() throws -> Reading {
        if let tick = tick?(), let reading = known.withLock({ $0?.tick == tick ? $0?.reading : nil }) {
            return reading
        }
        return try current()
    }

    /// Returns the number of the policy that was in force at most 10 milliseconds ago.
    ///
    /// - Throws: as ``current()``.
    package func recentNumber() throws -> Int {
        // Without a copy of the policy.
        if let tick = tick?(), let number = known.withLock({ $0?.tick == tick ? $0?.reading.number : nil }) {
            return number
        }
        return try current().number
    }

    private struct Stamp: Equatable {
        let file: FileStamp
        let folder: FileStamp

        /// The Unix time of the last change. In the second after it, another change could leave the same stamp, because
        /// the kernel's clock for files moves in steps of some milliseconds.
        var changed: Int { max(file.changed, folder.changed) }
    }
}

/// The state of a file by which a change is noticed.
private struct FileStamp: Equatable {
    /// The error of stat(2); 0 for a file that is there.
    private let error: Int32
    private let status: stat

    init(_ path: String) {
        var status = stat()
        error = stat(path, &status) == 0 ? 0 : errno
        self.status = status
    }

    var changed: Int { status.st_ctim.tv_sec }

    static func == (left: FileStamp, right: FileStamp) -> Bool {
        let (a, b) = (left.status, right.status)
        return left.error == right.error && a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size
            && isSame(a.st_mtim, b.st_mtim) && isSame(a.st_ctim, b.st_ctim)
    }

    private static func isSame(_ a: timespec, _ b: timespec) -> Bool { a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec }
}
