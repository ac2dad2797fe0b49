internal import Dispatch
internal import Foundation
internal import VaultBase

/// The file outside the database that shows if somebody put back an older state of the database. An older state gives
/// guesses back. The file holds the name of the store and the highest generation that was seen.
///
/// The mark is raised only twice a second. It does not stop a thief who puts back the database and kills the service
/// within half a second, again and again.
///
/// The file is never ahead of the database, because the generation is durable in the database first. A new file
/// replaces the old one, so a full disk or a power failure leaves the old file.
///
/// The file also says whether an older state was found. Otherwise a later start could miss the rollback, because other
/// instances may go on until the generation is above the mark again.
///
/// The mark is often on another disk than the database. If that disk hangs, only one thread waits for it, and requests
/// do not.
package final class HighWaterMark: Sendable {
    struct Level: Sendable, Hashable {
        var storeID: [UInt8]
        var generation: Int64
        /// Whether an older state was found that nobody has accepted yet.
        var isRolledBack = false

        init(of state: StoreState) { self.init(storeID: state.storeID, generation: state.generation) }

        init(storeID: [UInt8], generation: Int64, isRolledBack: Bool = false) {
            self.storeID = storeID
            self.generation = generation
            self.isRolledBack = isRolledBack
        }

        /// Whether a store of this generation is not an older one.
        func admits(_ generation: Int64) -> Bool {
            // Check-ins never get so far, only an accepted rollback does.
            let (least, isTooGreat) = self.generation.addingReportingOverflow(isRolledBack ? HighWaterMark.step / 2 : 0)
            return !isTooGreat && generation >= least
        }

        /// Whether the file need not be written for another level.
        func includes(_ other: Level) -> Bool {
            guard storeID == other.storeID else { return false }
            return isRolledBack
                ? other.isRolledBack || !admits(other.generation)
                : !other.isRolledBack && generation >= other.generation
        }
    }

    private struct State {
        /// The level in the file; nil for no file.
        var level: Level?
        /// The level that is being written, and its callers.
        var writing: Level?
        var underWay: [Waiter] = []
        /// The level after it, and its callers.
        var next: Level?
        var waiting: [Waiter] = []
        var isRunning = false
    }

    private static let title = "credential-vault high-water mark 1"
    private static let rolledBackWord = "rolled-back"
    /// The step of the generation after an accepted rollback. Check-ins never grow that far: ten check-ins in a second
    /// need 1,700 years for half of this step.
    static let step: Int64 = 1 << 40

    /// The path of the file.
    package let path: String
    private let replaceFile: @Sendable (Level, String) throws -> Void
    private let state: Lock<State>
    private let timer = DeadlineTimer()
    private let queue = DispatchQueue(label: "credential-vault.key-service.high-water-mark")

    /// Reads the file, if there is one.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if the file is damaged, or open to others.
    package convenience init(path: String) throws {
        try self.init(path: path) { level, path in try HighWaterMark.write(level, path) }
    }

    /// - Parameter replaceFile: writes a level to the path. It may block.
    init(path: String, replaceFile: @escaping @Sendable (Level, String) throws -> Void) throws {
        self.path = path
        self.replaceFile = replaceFile
        guard access(path, F_OK) == 0 else {
            state = Lock(State())
            return
        }
        try PrivateFile.requirePrivate(path: path, kind: S_IFREG, forbidden: 0o022)
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        let words = text.split(separator: "\n").first?.split(separator: " ").map(String.init) ?? []
        let isRolledBack = words.count == 7 && words[6] == Self.rolledBackWord
        guard words.count == 6 || isRolledBack, words[..<4].joined(separator: " ") == Self.title,
            let generation = Int64(words[5]), let storeID = Hexadecimal.decode(words[4].utf8)
        else {
            throw KeyServiceServerError(
                .configurationInvalid,
                "The high-water mark \(path) is damaged.", remedy: .acceptRollback)
        }
        state = Lock(State(level: Level(storeID: storeID, generation: generation, isRolledBack: isRolledBack)))
    }

    /// Checks that a store is not older than the mark. Makes the file for a new store.
    ///
    /// - Parameter isShared: whether other instances may go on with the store. If so, the file records that an older
    ///   store was found.
    /// - Throws: ``KeyServiceServerError`` with code `rolledBack`.
    package func check(_ state: StoreState, isShared: Bool = false) async throws {
        let mark = self.state.withLock { $0.level }
        guard let mark else {
            guard state.generation == 0 else { throw Self.rolledBack("The high-water mark \(path) is missing.") }
            return try await raise(to: state)
        }
        guard mark.storeID == state.storeID else {
            throw Self.rolledBack("The high-water mark \(path) belongs to another database.")
        }
        guard mark.admits(state.generation) else {
            // The error below matters more than a file that cannot be written.
            if isShared { try? await keepRollback(seen: mark.generation) }
            throw Self.rolledBack(
                mark.isRolledBack
                    ? "An older database was found before, and nobody accepted it (high-water mark \(path))."
                    : "The database is older than its high-water mark \(path).")
        }
    }

    private static func rolledBack(_ problem: String) -> KeyServiceServerError {
        KeyServiceServerError(
            .rolledBack,
            """
            \(problem) Perhaps wrong guesses are forgotten. Go on only if you know the reason, such as an older \
            database that you put back.
            """, remedy: .acceptRollback)
    }

    /// Writes a new level. Call it only with a state that is durable. Cancellation does not stop it.
    ///
    /// - Parameter deadline: the end of the wait for the disk. The write goes on after it.
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if the file cannot be written, or `busy` at
    ///   the deadline.
    package func raise(
        to state: StoreState, deadline: ContinuousClock.Instant = .now + .seconds(60)
    ) async throws {
        try await write(deadline: deadline) { _ in Level(of: state) }
    }

    /// Writes that an older state of the store was found. From now on, ``check(_:isShared:)`` fails until the rollback
    /// is accepted, here or at another instance.
    ///
    /// - Parameters:
    ///   - generation: the generation that was seen before.
    ///   - deadline: as for ``raise(to:deadline:)``.
    /// - Throws: as ``raise(to:deadline:)``.
    func keepRollback(
        seen generation: Int64, deadline: ContinuousClock.Instant = .now + .seconds(60)
    ) async throws {
        try await write(deadline: deadline) { state in
            (state.next ?? state.writing ?? state.level).map { known in
                Level(
                    storeID: known.storeID, generation: max(known.generation, generation), isRolledBack: true)
            }
        }
    }

    /// - Parameter makeLevel: returns the new level; nil to write nothing.
    private func write(deadline: ContinuousClock.Instant, _ makeLevel: (State) -> Level?) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let (isDone, mustStart) = state.withLock { state in
                guard let level = makeLevel(state), state.level?.includes(level) != true else { return (true, false) }
                let waiter = Waiter(deadline: deadline, continuation: continuation)
                if let writing = state.writing, writing.includes(level) {
                    state.underWay.append(waiter)
                    return (false, false)
                }
                if state.next?.includes(level) != true { state.next = level }
                state.waiting.append(waiter)
                defer { state.isRunning = true }
                return (false, !state.isRunning)
            }
            guard !isDone else { return continuation.resume() }
            // One block at a time: a disk that hangs takes one thread.
            if mustStart { queue.async { self.writeAll() } }
            timer.set(deadline) { [weak self] in self?.refuseLate() }
        }
    }

    /// Writes until nobody waits. It runs only on the queue.
    private func writeAll() {
        while let level = takeNext() {
            let result = Result { try replaceFile(level, path) }
            let callers = state.withLock { state in
                if case .success = result { state.level = level }
                state.writing = nil
                defer { state.underWay.removeAll() }
                return state.underWay
            }
            for caller in callers { caller.continuation.resume(with: result) }
        }
    }

    private func takeNext() -> Level? {
        state.withLock { state in
            (state.writing, state.next) = (state.next, nil)
            (state.underWay, state.waiting) = (state.waiting, [])
            state.isRunning = state.writing != nil
            return state.writing
        }
    }

    /// Refuses the callers whose time is up, and returns the first deadline of the others.
    private func refuseLate() -> ContinuousClock.Instant? {
        let now = ContinuousClock.now
        let (late, next) = state.withLock { state in
            let late = state.underWay.removeLate(at: now) + state.waiting.removeLate(at: now)
            return (late, (state.underWay + state.waiting).firstDeadline)
        }
        let error = KeyServiceServerError(.busy, "The disk of the high-water mark \(path) does not answer.")
        for waiter in late { waiter.continuation.resume(throwing: error) }
        return next
    }

    /// The highest known generation; 0 for none.
    package var generation: Int64 { state.withLock { $0.level?.generation ?? 0 } }

    /// Returns a generation that no instance knows yet, for a store whose rollback is accepted.
    package static func next(_ path: String, after state: StoreState) throws -> Int64 {
        // A damaged mark is ignored: an accepted rollback replaces it.
        let known = (try? HighWaterMark(path: path))?.generation ?? 0
        let (generation, isTooGreat) = max(known, state.generation).addingReportingOverflow(step)
        guard !isTooGreat else {
            throw KeyServiceServerError(
                .storeUnusable, "The generation in the database or in \(path) is damaged. Restore a backup.")
        }
        return generation
    }

    /// Replaces the file, also a damaged one, after a rollback was accepted.
    package static func replace(_ path: String, by state: StoreState) throws {
        try write(Level(of: state), path)
    }

    private static func write(_ level: Level, _ path: String) throws {
        let end = level.isRolledBack ? " \(rolledBackWord)" : ""
        let line = Array("\(title) \(Hexadecimal.text(level.storeID)) \(level.generation)\(end)\n".utf8)
        // A symbolic link to another disk stays.
        let target = realpath(path, nil)
        defer { free(target) }
        let path = target.map { String(cString: $0) } ?? path
        let new = path + ".new"
        unlink(new)
        let file = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw cannotWrite(path) }
        defer { close(file) }
        guard Foundation.write(file, line, line.count) == line.count, fsync(file) == 0, rename(new, path) == 0 else {
            throw cannotWrite(path)
        }
    }

    private static func cannotWrite(_ path: String) -> KeyServiceServerError {
        KeyServiceServerError(
            .configurationInvalid, "The high-water mark \(path) cannot be written (error \(errno)).")
    }
}
