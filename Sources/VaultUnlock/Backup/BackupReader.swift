internal import Foundation
internal import VaultCrypto
internal import VaultStorage

/// Reads the records of a backup, one after the other.
actor BackupReader {
    private static let chunkSize = SealedStream.chunkSize + SealedStream.overhead

    private let file: BackupFile
    private let opener: StreamOpener
    private var parser = BackupParser()
    private var offset = BackupHeader.size

    init(_ file: BackupFile, key: borrowing SecretBytes) throws {
        self.file = file
        do {
            opener = try StreamOpener(head: file.head, key: key, context: file.header.context)
        } catch let error as VaultCryptoError where error.code == .malformedEnvelope {
            throw VaultError.damagedBackup
        }
    }

    /// - Returns: nil after the last record of a complete stream.
    /// - Throws: ``VaultError`` with code `wrongSecret` if not even the first chunk opens: ask for the passphrase
    ///   again. Otherwise `backupInvalid`: use another copy.
    func next() throws -> BackupRecord? {
        while true {
            if let record = try parser.next() { return record }
            if opener.isComplete {
                guard parser.isComplete else { throw VaultError.damagedBackup }
                return nil
            }
            try readChunk()
        }
    }

    private func readChunk() throws {
        let sealed = try file.read(Self.chunkSize, at: offset)
        let isFirst = offset == BackupHeader.size
        do {
            parser.append(try opener.open(sealed))
        } catch let error as VaultCryptoError where error.code == .wrongKey {
            guard isFirst && sealed.count > SealedStream.overhead else { throw VaultError.damagedBackup }
            throw VaultError(
                .wrongSecret, "The passphrase is wrong, or the backup is damaged. Nothing was changed. Try again.")
        }
        offset += sealed.count
        // Bytes after the last chunk are an error.
        if opener.isComplete, try !file.read(1, at: offset).isEmpty { throw VaultError.damagedBackup }
    }
}

/// The file of a backup, and its header.
final class BackupFile: Sendable {
    let header: BackupHeader
    let head: [UInt8]
    private let descriptor: CInt

    /// - Throws: ``VaultError`` with code `configurationInvalid` if the file cannot be read, or `backupInvalid`.
    init(path: String) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw VaultError(
                .configurationInvalid,
                "The backup \(path) cannot be opened: \(errno == ENOENT ? "there is no such file" : "permission denied")."
            )
        }
        do {
            var info = stat()
            guard fstat(descriptor, &info) == 0, info.st_mode & S_IFMT == S_IFREG else {
                throw VaultError(
                    .configurationInvalid, "The backup \(path) is not a regular file. Choose another file.")
            }
            (header, head) = try BackupHeader.read(Self.read(descriptor, BackupHeader.size, at: 0))
        } catch {
            close(descriptor)
            throw error
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// - Returns: fewer bytes at the end of the file.
    func read(_ size: Int, at offset: Int) throws -> [UInt8] { try Self.read(descriptor, size, at: offset) }

    private static func read(_ descriptor: CInt, _ size: Int, at offset: Int) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: size) { buffer, initialized in
            while initialized < size {
                let count = pread(
                    descriptor, buffer.baseAddress.map { $0 + initialized }, size - initialized,
                    off_t(offset + initialized))
                if count < 0 && errno == EINTR { continue }
                guard count >= 0 else {
                    throw VaultError(.storeUnreadable, "The backup cannot be read right now. Try again.")
                }
                if count == 0 { return }
                initialized += count
            }
        }
    }
}
