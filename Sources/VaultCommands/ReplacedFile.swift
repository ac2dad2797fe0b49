internal import Foundation

/// A file of another program, which is replaced as a whole: no reader sees half of it.
enum ReplacedFile {
    /// Replaces a file and keeps its permissions. If the path is a link, replaces the target of the link.
    ///
    /// - Parameters:
    ///   - suffix: the end of the temporary name of the new version, after the name and a dot.
    /// - Returns: whether the file was written. Otherwise nothing was changed.
    static func write(_ bytes: [UInt8], to path: String, suffix: String, mode newMode: mode_t = 0o644) -> Bool {
        let target =
            realpath(path, nil).map { pointer in
                defer { free(pointer) }
                return String(cString: pointer)
            } ?? path
        var status = stat()
        let mode = stat(target, &status) == 0 ? status.st_mode & 0o7777 : newMode
        let new = "\(target).\(suffix)"
        let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return false }
        let isWritten =
            Foundation.write(descriptor, bytes, bytes.count) == bytes.count && fchmod(descriptor, mode) == 0
            && fsync(descriptor) == 0
        close(descriptor)
        guard isWritten, rename(new, target) == 0 else {
            unlink(new)
            return false
        }
        return true
    }
}
