internal import Foundation

/// The process that wants to use a session. Its number alone does not name it, because the system uses numbers again.
struct AskingProcess: Hashable, Sendable {
    /// The path of its program.
    let program: String
    private let number: Int32
    /// The time of its start, in ticks since the start of the system.
    private let startedAt: UInt64

    /// Finds the process behind a client of the agent.
    ///
    /// A program of this package asks for its parent process. A program that forbids others to look into it hides its
    /// path, as those of this package do, so its parent counts, too.
    ///
    /// - Parameters:
    ///   - process: the process that is connected to the agent.
    ///   - own: the paths of the programs of this package.
    /// - Returns: nil if no program with a readable path is found.
    init?(_ process: Int32, own: Set<String>) {
        var number = process
        while true {
            guard let before = ProcessState(of: number) else { return nil }
            let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(number)/exe")
            // Another process may have got the number in between.
            guard ProcessState(of: number)?.startedAt == before.startedAt else { return nil }
            if let path, !own.contains(path) {
                (program, self.number, startedAt) = (path, number, before.startedAt)
                return
            }
            guard before.parent > 1 else { return nil }
            number = before.parent
        }
    }

    var isRunning: Bool { ProcessState(of: number)?.startedAt == startedAt }
}

/// The parts of `/proc/PID/stat` (proc_pid_stat(5)) that name a process.
private struct ProcessState {
    let parent: Int32
    let startedAt: UInt64

    /// - Returns: nil if there is no such process.
    init?(of process: Int32) {
        guard let stat = FileManager.default.contents(atPath: "/proc/\(process)/stat"),
            // The name of the program, in parentheses, may hold any character.
            let end = stat.lastIndex(of: UInt8(ascii: ")"))
        else { return nil }
        let fields = String(decoding: stat[stat.index(after: end)...], as: UTF8.self).split(separator: " ")
        // The first of them is the third field of the line; the parent is the fourth, the start the 22nd.
        guard fields.count > 19, let parent = Int32(fields[1]), let startedAt = UInt64(fields[19]) else { return nil }
        (self.parent, self.startedAt) = (parent, startedAt)
    }
}
