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
package final class HighWaterMark: Sendable {
    struct Level: Sendable, Hashable {
        var storeID: [UInt8]
        var generation: Int64
    }

    private static let title = "credential-vault high-water mark 1"
    /// The step of the generation after an accepted rollback, larger than what other instances have seen meanwhile.
    static let step: Int64 = 1_000_000

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
        guard words.count == 6, words[..<4].joined(separator: " ") == Self.title, let generation = Int64(words[5]),
            let storeID = Hexadecimal.decode(words[4].utf8)
        else {
            throw KeyServiceServerError(
                .configurationInvalid,
                "The high-water mark \(path) is damaged.", remedy: .acceptRollback)
        }
        level = Lock(Level(storeID: storeID, generation: generation))
    }

    /// Checks that a store is not older than the mark. Makes the file for a new store.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `rolledBack`.
    package func check(_ state: StoreState) throws {
        let mark = level.withLock { $0 }
        guard let mark else {
            guard state.generation == 0 else { throw Self.rolledBack("The high-water mark \(path) is missing.") }
            return try raise(to: state)
        }
        guard mark.storeID == state.storeID else {
            throw Self.rolledBack("The high-water mark \(path) belongs to another database.")
        }
        guard mark.generation <= state.generation else {
            throw Self.rolledBack("The database is older than its high-water mark \(path).")
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
            if let level, level.storeID == next.storeID, level.generation >= next.generation { return }
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
        let line = Array("\(title) \(Hexadecimal.text(level.storeID)) \(level.generation)\n".utf8)
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
