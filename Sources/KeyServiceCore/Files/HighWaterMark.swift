internal import Foundation
internal import VaultBase

/// The file outside the database that shows if somebody put back an older state of the database. An older state gives
/// guesses back. The file holds the name of the store and the highest generation that was seen.
///
/// The file also holds whether an older state was found. Other instances that saw less of the newer state go on, and
/// soon the generation is above the mark again.
///
/// The mark is raised only twice a second. It does not stop a thief who puts back the database and kills the service
/// within half a second, again and again.
///
/// The file is never ahead of the database, because the generation is durable in the database first. A new file
/// replaces the old one, so a full disk or a power failure leaves the old file.
package final class HighWaterMark: Sendable {
    struct Level: Sendable, Hashable {
        var storeID: [UInt8]
        var generation: Int64
        /// Whether an older state was found that nobody has accepted yet.
        var isRolledBack = false

        /// Whether a store of this generation is not an older one.
        func admits(_ generation: Int64) -> Bool {
            // Check-ins never get so far, only an accepted rollback does.
            let (least, isTooGreat) = self.generation.addingReportingOverflow(isRolledBack ? HighWaterMark.step / 2 : 0)
            return !isTooGreat && generation >= least
        }
    }

    private static let title = "credential-vault high-water mark 1"
    private static let rolledBackWord = "rolled-back"
    /// The step of the generation after an accepted rollback. With ten check-ins in a second, the generation grows by
    /// half of it in 1,700 years.
    static let step: Int64 = 1 << 40

    /// The path of the file.
    package let path: String
    private let level: Lock<Level?>

    /// Reads the file, if there is one.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if the file is damaged, or open to others.
    package init(path: String) throws {
        self.path = path
        guard access(path, F_OK) == 0 else {
            level = Lock(nil)
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
        level = Lock(Level(storeID: storeID, generation: generation, isRolledBack: isRolledBack))
    }

    /// Checks that a store is not older than the mark. Makes the file for a new store.
    ///
    /// - Parameter isShared: whether other instances may go on with the store. Then an older store is kept in mind.
    /// - Throws: ``KeyServiceServerError`` with code `rolledBack`.
    package func check(_ state: StoreState, isShared: Bool = false) throws {
        let mark = level.withLock { $0 }
        guard let mark else {
            guard state.generation == 0 else { throw Self.rolledBack("The high-water mark \(path) is missing.") }
            return try raise(to: state)
        }
        guard mark.storeID == state.storeID else {
            throw Self.rolledBack("The high-water mark \(path) belongs to another database.")
        }
        guard mark.admits(state.generation) else {
            // The error below matters more than a file that cannot be written.
            if isShared { try? keepRollback(seen: mark.generation) }
            throw Self.rolledBack(
                mark.isRolledBack
                    ? "An older database was found before, and nobody accepted it (high-water mark \(path))."
                    : "The database is older than its high-water mark \(path).")
        }
    }

    /// Writes that an older state of the store was found. From now on, ``check(_:isShared:)`` fails until the rollback
    /// is accepted, here or at another instance.
    ///
    /// - Parameter generation: the generation that was seen before.
    func keepRollback(seen generation: Int64) throws {
        try level.withLock { level in
            guard let known = level, !known.isRolledBack else { return }
            let next = Level(
                storeID: known.storeID, generation: max(known.generation, generation), isRolledBack: true)
            try Self.write(next, path)
            level = next
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

    /// Writes a new level. Call it only with a state that is durable.
    package func raise(to state: StoreState) throws {
        try level.withLock { level in
            let next = Level(storeID: state.storeID, generation: state.generation)
            if let level, level.storeID == next.storeID,
                level.generation >= next.generation || !level.admits(next.generation)
            {
                return
            }
            try Self.write(next, path)
            level = next
        }
    }

    /// The highest known generation; 0 for none.
    package var generation: Int64 { level.withLock { $0?.generation ?? 0 } }

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
        try write(Level(storeID: state.storeID, generation: state.generation), path)
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
