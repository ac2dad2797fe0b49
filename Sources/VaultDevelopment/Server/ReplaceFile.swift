package import FoundationEssentials
internal import VaultBase

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Replaces or creates the file at `path`, with mode 0600. A reader sees the old or the new contents, never a part. It
/// blocks, so call it on its own thread.
package func replaceFile(_ path: String, with contents: Data) throws {
    let temporary = "\(path).\(UUID().uuidString).tmp"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw FileReplacementError(number: errno) }
    do {
        defer { close(descriptor) }
        if let number = writeAll(contents, to: descriptor) { throw FileReplacementError(number: number) }
        guard rename(temporary, path) == 0 else { throw FileReplacementError(number: errno) }
    } catch {
        unlink(temporary)
        throw error
    }
}

/// The error of a failed system call.
package struct FileReplacementError: Error, CustomStringConvertible {
    /// The error number, as in `errno`.
    package let number: Int32

    package var description: String {
        switch number {
        case EACCES, EPERM, EROFS: "permission denied"
        case ENOENT, ENOTDIR: "no such folder"
        case ENOSPC, EDQUOT: "no space left"
        default: "system error \(number)"
        }
    }
}
