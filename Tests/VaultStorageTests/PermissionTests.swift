import Foundation
import Testing
import VaultSQLite
import VaultStorage
import VaultStorageTestSupport

@Suite struct PermissionTests {
    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private func refusal(_ folder: String) throws -> StoreError {
        try #require(throws: StoreError.self) { _ = try SQLiteStore(folder: folder) }
    }

    @Test func `when a store is created, then its files are private`() async throws {
        try await withTemporaryFolder { parent in
            let folder = parent + "/a/b"
            let store = try SQLiteStore(folder: folder)
            let account = Account.example("alice")
            try await store.apply([.putAccount(account)], to: account.id)
            try await store.withLock(on: account.id) { _ in }
            #expect(try mode(folder) == 0o700)
            let files = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(files.contains("vault.sqlite") && files.contains("vault.sqlite-wal"))
            #expect(!files.contains { $0.hasPrefix(".new") })
            for file in files { #expect(try mode("\(folder)/\(file)") == 0o600, "\(file)") }
        }
    }

    @Test(arguments: [0o755, 0o750, 0o707, 0o701, 0o770])
    func `when others may enter the folder, then opening is refused`(mode: Int) async throws {
        try await withTemporaryFolder { folder in
            _ = try SQLiteStore(folder: folder)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder)
            let error = try refusal(folder)
            #expect(error.code == .unsafePermissions)
            #expect(error.description.contains(folder) && error.description.contains("700"))
            #expect(error.detail == .folderOpenToOthers && error.value == folder)
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder)
            _ = try SQLiteStore(folder: folder)
        }
    }

    @Test(arguments: ["", "-wal", "-shm"], [0o644, 0o640, 0o602])
    func `when others may access a file, then opening is refused`(suffix: String, mode: Int) async throws {
        try await withTemporaryFolder { folder in
            let first = try SQLiteStore(folder: folder)
            try await first.checkWritable()
            let path = folder + "/vault.sqlite" + suffix
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            let error = try refusal(folder)
            #expect(error.code == .unsafePermissions)
            #expect(error.description.contains(path) && error.description.contains("600"))
            #expect(error.detail == .fileOpenToOthers && error.value == path)
            #expect(try await first.accounts() == [])
        }
    }

    @Test(.enabled(if: geteuid() == 0, "Only root can give files away."), arguments: ["", "/vault.sqlite"])
    func `when another user owns the store, then opening is refused`(path: String) async throws {
        try await withTemporaryFolder { folder in
            _ = try SQLiteStore(folder: folder)
            try #require(chown(folder + path, 1, 1) == 0)
            let error = try refusal(folder)
            #expect(error.code == .unsafePermissions)
            #expect(error.description.contains("another user"))
            #expect(error.detail == .fileOfOtherUser && error.value == folder + path)
        }
    }

    @Test func `when the store is a link, then opening is refused`() async throws {
        try await withTemporaryFolder { parent in
            let (real, link) = (parent + "/real", parent + "/link")
            _ = try SQLiteStore(folder: real)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: real)
            #expect(try refusal(link).code == .unsafePermissions)

            try FileManager.default.moveItem(atPath: real + "/vault.sqlite", toPath: parent + "/elsewhere")
            for target in [parent + "/elsewhere", parent + "/nowhere"] {
                try? FileManager.default.removeItem(atPath: real + "/vault.sqlite")
                try FileManager.default.createSymbolicLink(
                    atPath: real + "/vault.sqlite", withDestinationPath: target)
                #expect(try refusal(real).code == .unsafePermissions)
            }
            #expect(!FileManager.default.fileExists(atPath: parent + "/nowhere"))
        }
    }

    @Test func `when a folder replaces the database, then opening is refused`() async throws {
        try await withTemporaryFolder { folder in
            try FileManager.default.createDirectory(
                atPath: folder + "/vault.sqlite", withIntermediateDirectories: false)
            #expect(try refusal(folder).code == .unsafePermissions)
            let file = folder + "/file"
            try Data("x".utf8).write(to: URL(filePath: file))
            #expect([.unreadable, .unsafePermissions].contains(try refusal(file).code))
            #expect(try refusal(file + "/below").code == .unreadable)
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "x")
        }
    }
}
