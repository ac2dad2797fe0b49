internal import Glibc

/// Tells a file from another file of the same name: its device and its inode.
package struct FileIdentity: Equatable, Sendable {
    private let device: dev_t
    private let number: ino_t

    /// - Returns: nil if there is no such file.
    package init?(of path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        (device, number) = (status.st_dev, status.st_ino)
    }
}
