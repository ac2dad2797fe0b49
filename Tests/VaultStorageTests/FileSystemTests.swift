import Foundation
import Testing
import VaultStorage
import VaultStorageTestSupport

@testable import VaultSQLite

/// Stores on file systems that break SQLite's requirements.
@Suite struct FileSystemTests {
    /// `f_type` of statfs(2), as listed in its manual page and in Linux's `magic.h`.
    private static let networkTypes: [(UInt32, String)] = [
        (0x6969, "NFS"), (0xFF53_4D42, "CIFS"), (0xFE53_4D42, "SMB"), (0x0102_1997, "9P"), (0x5346_414F, "AFS"),
        (0x6B41_4653, "AFS"), (0x00C3_6400, "Ceph"), (0x0BD0_0BD0, "Lustre"), (0x0116_1970, "GFS2"),
    ]

    private func open(_ folder: String, type: UInt32, allowsFUSE: Bool = false) throws -> SQLiteStore {
        try SQLiteStore(folder: folder, allowsFUSE: allowsFUSE) { _ in FileSystemKind(type: type) }
    }

    @Test(arguments: networkTypes)
    func `when the folder is on a network, then opening fails`(type: UInt32, name: String) async throws {
        try await withTemporaryFolder { (parent) async throws in
            for allowsFUSE in [false, true] {
                let folder = parent + "/store"
                let error = #expect(throws: StoreError.self) {
                    _ = try open(folder, type: type, allowsFUSE: allowsFUSE)
                }
                #expect(error?.code == .unsafeFileSystem)
                #expect(error?.description.contains("(\(name))") == true)
                #expect(error?.detail == .networkFileSystem)
                #expect(!FileManager.default.fileExists(atPath: folder))
            }
        }
    }

    @Test func `when the folder is on FUSE, then opening needs permission`() async throws {
        try await withTemporaryFolder { (folder) async throws in
            let fuse: UInt32 = 0x6573_5546
            let error = #expect(throws: StoreError.self) { _ = try open(folder, type: fuse) }
            #expect(error?.code == .unsafeFileSystem)
            #expect(error?.detail == .fuseFileSystem && error?.vaultError.detail == .fuseFileSystem)
            #expect(try await open(folder, type: fuse, allowsFUSE: true).accounts() == [])
        }
    }

    @Test(arguments: [0xEF53, 0x0102_1994, 0x9123_683E, 0x5846_5342, 0x794C_7630, 0xF2F5_2010] as [UInt32])
    func `when the folder is local, then the store opens`(type: UInt32) async throws {
        try await withTemporaryFolder { (folder) async throws in
            #expect(try await open(folder, type: type).accounts() == [])
        }
    }

    @Test func `when a folder is missing, then its parent's kind counts`() throws {
        #expect(FileSystemKind(of: "/proc/self") == .local)
        let folder = FileManager.default.temporaryDirectory.path() + "none/of/these"
        #expect(FileSystemKind(of: folder) == .local)
    }
}
