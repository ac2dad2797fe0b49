internal import Foundation
internal import VaultStorage

/// A folder for a browser's profile during one sign-in. Nobody else may read it.
///
/// The program that made it keeps it locked. So another program can remove the folder of a killed one.
struct TemporaryProfile: Sendable {
    let path: String
    private let lock: Int32

    private static let prefix = "credential-vault-browser-"

    init() throws {
        let parent = FileManager.default.temporaryDirectory.path
        Self.removeAbandoned(in: parent)
        var template = Array("\(parent)/\(Self.prefix)XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw VaultError(
                .configurationInvalid,
                "A temporary folder for the browser cannot be made in \(parent). Free disk space there, or set TMPDIR.")
        }
        path = template.withUnsafeBufferPointer {
            String(decoding: $0.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
        // Another program may have removed it as abandoned before it was locked.
        guard let lock = Self.locked(path), access(path, F_OK) == 0 else {
            throw VaultError(.configurationInvalid, "A temporary folder for the browser cannot be made. Try again.")
        }
        self.lock = lock
    }

    /// Removes the folder. A browser that has just ended may still write for a moment.
    func remove() async {
        // The caller may already be cancelled, and could then not wait.
        await Task {
            for _ in 1...20 {
                try? FileManager.default.removeItem(atPath: path)
                guard access(path, F_OK) == 0 else { break }
                try? await Task.sleep(for: .milliseconds(50))
            }
        }.value
        close(lock)
    }

    private static func removeAbandoned(in parent: String) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? [] where name.hasPrefix(prefix) {
            let path = "\(parent)/\(name)"
            var status = stat()
            guard lstat(path, &status) == 0, status.st_uid == geteuid(), let lock = locked(path) else { continue }
            try? FileManager.default.removeItem(atPath: path)
            close(lock)
        }
    }

    /// - Returns: the descriptor that holds the lock; nil if another program has the lock.
    private static func locked(_ path: String) -> Int32? {
        let descriptor = Foundation.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }
}
