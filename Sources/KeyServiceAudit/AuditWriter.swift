internal import Foundation
internal import KeyServiceCore
internal import VaultCrypto

/// The writer of an audit log. Several processes may write the same log, one batch of lines at a time.
///
/// A batch is written in this order:
///
/// 1. The state file gets the new lines and the key of the line after them. It is made durable, and the old key is
///    wiped.
/// 2. The log file gets the new lines, and is made durable.
/// 3. The state file notes this.
///
/// A crash during step 1 leaves the log as it was. After a later crash, the next writer completes the log file from the
/// state file. So a crash never makes a gap in the sequence numbers: a gap is always a cut. The key of a line is gone
/// before the line is in the log file.
///
/// ## What the log proves
///
/// An attacker takes over the machine at time T. From then on, the attacker can read and change all files.
///
/// | The attacker | Is this seen by `audit verify`? |
/// |---|---|
/// | changes, removes, repeats, inserts or moves lines from before T | Yes. The keys of these lines do not exist any more. |
/// | cuts the log, and goes on writing with the state file | Yes. The state only makes lines with later numbers. Line numbers are missing. |
/// | cuts the end of the log, and writes nothing more | Only with an anchor (`AuditAnchor`) of a line that was cut off. |
/// | takes the disk away while a line is written | The lines of the last batch can be changed: the wiped key may still be on the disk. See `AuditStateFile`. |
/// | puts back a copy of log and state from before T (a snapshot, a backup), and goes on from there | Only with an anchor from after the copy. Each MAC covers the MAC before it, so an anchor speaks for all lines before it. |
/// | has an old copy of the state file, or reads old blocks of the disk | Lines after that copy can be changed. Only anchors show it. So do not back up the state file. Some disks and file systems (SSDs, btrfs, snapshots) keep old blocks. |
/// | writes false lines from T on, or writes none | No. No log of a machine can prove what the machine does later. |
/// | kills the service in the middle of its work | The log stays whole. ``AuditLog`` holds events for 100 milliseconds, and these are lost. `audit verify` says where a service ended without its last line. |
/// | has the verification key | No. The key that verifies the log can also forge it. Keep the key on another machine. |
///
/// `copytruncate` loses the lines that are written during its copy. Rename the file instead.
package struct AuditWriter: Sendable {
    /// The path of the log file.
    package let path: String
    private let instance: String
    var statePath: String { Self.statePath(of: path) }

    /// - Parameters:
    ///   - path: the log file. Its state is in `path.state`, its lock in `path.lock`.
    ///   - instance: the name of this machine or server, for the lines.
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if there is no such log.
    package init(path: String, instance: String) throws {
        self.path = path
        self.instance = instance
        _ = try lockedState { _, state in state.next }
    }

    static func statePath(of path: String) -> String { path + ".state" }

    /// The result of a batch.
    struct Written {
        /// The number of events that are in the log now. The others did not fit into the batch.
        let count: Int
        /// Whether the lines are in the log file. If not, they are in the state file, and the next call tries again.
        let isInFile: Bool
        /// Whether another program changed the log file.
        let wasChanged: Bool
    }

    /// Writes a line for each event. The lines are durable when this returns.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `storeUnusable` if the log file cannot be written. Some of the
    ///   lines may then follow later.
    package func append(_ events: [AuditEvent]) throws {
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        var rest = events.map { TimedAuditEvent(event: $0, time: now) }
        while !rest.isEmpty {
            let written = try append(rest)
            guard written.isInFile else { throw KeyServiceServerError(.storeUnusable, "\(path) cannot be written.") }
            rest = Array(rest.dropFirst(written.count))
        }
    }

    func append(_ events: [TimedAuditEvent]) throws -> Written {
        try lockedState { file, state in
            let log = try AuditLogFile(path: path)
            let wasChanged = try log.complete(&state, in: file)
            guard !events.isEmpty else { return Written(count: 0, isInFile: true, wasChanged: wasChanged) }
            let start = try log.status()
            var last = state.lastMAC
            var lines: [UInt8] = []
            var count = 0
            for event in events {
                guard lines.count + AuditLine.maxSize <= AuditStateFile.maxPending else { break }
                let content = AuditLine.content(
                    event, sequence: state.next, instance: instance,
                    after: start.size == 0 && count == 0 && state.next > 1 ? last : nil)
                last = try state.key.authenticate(content, after: last)
                lines += AuditLine.complete(content, mac: last)
                state.next += 1
                count += 1
            }
            state.generation += 1
            state.lastMAC = last
            (state.file, state.offset, state.pending, state.isSettled) = (start.file, start.size, lines, false)
            try file.write(state)
            do {
                try log.append(lines, at: start.size)
                FaultPoint.auditLinesWritten.strike()
                file.markSettled(state)
                return Written(count: count, isInFile: true, wasChanged: wasChanged)
            } catch {
                return Written(count: count, isInFile: false, wasChanged: wasChanged)
            }
        }
    }

    /// Returns the anchor of the newest line; nil if the log has no line.
    package func anchor() throws -> AuditAnchor? {
        try lockedState { _, state in
            state.next > 1 ? AuditAnchor(sequence: state.next - 1, mac: state.lastMAC) : nil
        }
    }

    /// Returns the id of the log, which never changes.
    package func id() throws -> [UInt8] {
        try lockedState { _, state in state.id }
    }

    /// Calls `body` with the state while no other process has it.
    private func lockedState<R>(
        _ body: (borrowing AuditStateFile, inout AuditState) throws -> R
    ) throws -> R {
        let file = try AuditStateFile(path: statePath)
        let number = open(path + ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard number >= 0 else {
            throw KeyServiceServerError(.configurationInvalid, "\(path).lock cannot be opened (error \(errno)).")
        }
        let lock = PrivateFile.Descriptor(number: number)
        while flock(lock.number, LOCK_EX) != 0 {
            guard errno == EINTR else {
                throw KeyServiceServerError(.storeUnusable, "\(path).lock cannot be locked (error \(errno)).")
            }
        }
        var state = try file.read()
        return try body(file, &state)
    }
}

extension AuditWriter {
    /// Makes a new audit log with its first line.
    ///
    /// - Parameters:
    ///   - path: the log file, which must not exist.
    ///   - saveKey: gets the verification key, to store it. If it throws, no log is made.
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if the log exists or cannot be made.
    package static func create(
        path: String, instance: String, saveKey: (borrowing AuditVerificationKey) throws -> Void
    ) throws -> AuditWriter {
        let statePath = statePath(of: path)
        for existing in [path, statePath] where access(existing, F_OK) == 0 {
            throw KeyServiceServerError(.configurationInvalid, "\(existing) already exists, and is not overwritten.")
        }
        let key = try SecretBytes.random(count: AuditKey.size)
        try saveKey(try AuditVerificationKey(key.copy()))
        do {
            let state = AuditState(
                id: (0..<16).map { _ in UInt8.random(in: 0...255) }, generation: 1, next: 1,
                lastMAC: AuditKey.firstMAC, key: try AuditKey(key),
                file: .init(device: 0, inode: 0), offset: 0, pending: [], isSettled: true)
            try AuditStateFile.create(path: statePath, state)
            let writer = try AuditWriter(path: path, instance: instance)
            try writer.append([AuditEvent(.logMade)])
            return writer
        } catch {
            unlink(statePath)
            throw error
        }
    }
}
