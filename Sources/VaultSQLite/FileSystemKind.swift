internal import CLinux
internal import Foundation
internal import VaultStorage

/// The kind of a file system, for SQLite. SQLite needs reliable locks, and memory that all programs share. File systems
/// of several machines have neither.
package enum FileSystemKind: Sendable, Equatable {
    case local
    /// A file system that several machines share, with its name.
    case shared(String)
    /// A file system behind a program that may do anything: sshfs, gocryptfs, a disk image.
    case fuse

    /// Finds the kind of file system of a path, even if the path does not exist yet. An unknown kind counts as local:
    /// if it is wrong, opening the store fails.
    package init(of path: String) {
        var type: UInt32 = 0
        // Mostly the folder is there already.
        if linux_file_system_type(path, &type) == 0 {
            self.init(type: type)
            return
        }
        var folder = URL(fileURLWithPath: path).standardizedFileURL.path(percentEncoded: false)
        while linux_file_system_type(folder, &type) != 0 {
            guard folder != "/", errno == ENOENT else {
                self = .local
                return
            }
            folder = (folder as NSString).deletingLastPathComponent
        }
        self.init(type: type)
    }

    /// - Parameter type: `f_type` of statfs(2).
    package init(type: UInt32) {
        self = type == 0x6573_5546 ? .fuse : Self.nameOfShared(type).map { .shared($0) } ?? .local
    }

    /// The numbers are from statfs(2), Linux's `magic.h`, and the sources of the file systems.
    private static func nameOfShared(_ type: UInt32) -> String? {
        switch type {
        case 0x6969: "NFS"
        case 0x517B, 0xFE53_4D42: "SMB"
        case 0xFF53_4D42: "CIFS"
        case 0x564C: "NCP"
        case 0x7375_7245: "Coda"
        case 0x5346_414F, 0x6B41_4653: "AFS"
        case 0x0102_1997: "9P"
        case 0x00C3_6400: "Ceph"
        case 0x0116_1970: "GFS2"
        case 0x7461_636F: "OCFS2"
        case 0x0BD0_0BD0: "Lustre"
        case 0x4750_4653: "GPFS"
        case 0x2003_0528: "OrangeFS"
        case 0x1983_0326: "BeeGFS"
        case 0x786F_4256: "VirtualBox shared folder"
        case 0xBACB_ACBC: "VMware shared folder"
        case 0xAAD7_AAEA: "PanFS"
        case 0xBEEF_DEAD: "StorNext"
        default: nil
        }
    }

    /// - Throws: ``StoreError`` with code `unsafeFileSystem`.
    func requireSafe(for path: String, allowsFUSE: Bool) throws {
        switch self {
        case .local: break
        case .fuse where allowsFUSE: break
        case .fuse:
            throw StoreError(
                .unsafeFileSystem,
                "\(path) is on a FUSE file system, on which the store can be damaged. Move the folder to a local disk.",
                detail: .fuseFileSystem)
        case .shared(let name):
            throw StoreError(
                .unsafeFileSystem,
                "\(path) is on a network file system (\(name)), on which the store can be damaged. Move the folder to a local disk.",
                detail: .networkFileSystem)
        }
    }
}
