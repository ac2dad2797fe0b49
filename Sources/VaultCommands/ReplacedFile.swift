internal import Foundation

/// A file of another program, replaced as a whole: nobody ever reads half of it.
enum ReplacedFile {
    /// Writes a file anew, with the permissions that it has. Where it is a link, what the link points to.
    ///
    /// - Parameters:
    ///   - suffix: what the new version is called while it is written, behind the name and a dot.
    ///   - mode: the permissions of a file that is not there yet.
    /// - Returns: whether it was written. Otherwise nothing was changed.
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
