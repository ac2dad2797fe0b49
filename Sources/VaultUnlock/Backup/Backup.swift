internal import Foundation
internal import VaultCrypto
internal import VaultStorage

/// A backup that was opened with its passphrase and read to its end. It is whole and unchanged.
public final class Backup: Sendable {
    /// The contents of the backup.
    public let contents: BackupContents
    private let opened: Opened?

    private struct Opened: Sendable {
        let file: BackupFile
        let key: SharedSecret
    }

    init(path: String, passphrase: borrowing SecretBytes) async throws {
        let file = try BackupFile(path: path)
        let key = SharedSecret(try await file.header.key(under: passphrase))
        opened = Opened(file: file, key: key)
        contents = try await Self.contents(of: BackupReader(file, key: key.bytes))
    }

    /// Makes a backup without a file, for the `StorageProtocol` of an app's own tests. A real ``Storage`` imports
    /// nothing from it: it throws ``VaultError`` with code `configurationInvalid`.
    public init(contents: BackupContents) {
        self.contents = contents
        opened = nil
    }

    /// Makes a reader that starts at the beginning.
    func reader() throws -> BackupReader {
        guard let opened else {
            throw VaultError(
                .configurationInvalid, "This backup has no file. Open one with openBackup(at:passphrase:).")
        }
        return try BackupReader(opened.file, key: opened.key.bytes)
    }

    private static func contents(of reader: BackupReader) async throws -> BackupContents {
        var start: BackupStart?
        var accounts: [BackupContents.Account] = []
        while let record = try await reader.next() {
            switch record {
            case .start(let json):
                start = try? JSONDecoder().decode(BackupStart.self, from: Data(json))
            case .account(let json):
                accounts.append(try BackupAccount(json: json).summary)
            case .item(let name):
                accounts[accounts.count - 1].items.append(name)
            case .piece, .endOfItem, .end: break
            }
        }
        // If an account or item were there twice, the order of the import would decide which one stays.
        guard let start, Set(accounts.map(\.id)).count == accounts.count,
            accounts.allSatisfy({ Set($0.items).count == $0.items.count })
        else { throw VaultError.damagedBackup }
        return BackupContents(createdAt: start.createdAt, accounts: accounts)
    }
}
