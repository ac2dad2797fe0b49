internal import Foundation
package import KeyServiceCore
internal import VaultCrypto

/// The file with the master key: 32 raw bytes, readable by its owner only.
enum MasterKeyFile {
    /// Reads the master key.
    ///
    /// - Parameter isCredential: whether systemd made the file (`$CREDENTIALS_DIRECTORY`). The permissions of the
    ///   group then show its access list.
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid`, which names the problem with the file.
    static func read(path: String, isCredential: Bool = false) throws -> MasterKey {
        try PrivateFile.requirePrivate(
            path: path, kind: S_IFREG, forbidden: isCredential ? 0o007 : 0o077,
            "This file is the master key. Put back your copy of it.")
        let number = open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else {
            throw KeyServiceServerError(.configurationInvalid, "\(path) cannot be read (error \(errno)).")
        }
        let file = PrivateFile.Descriptor(number: number)
        var count = 0
        // One byte more than the key has, to notice a longer file.
        let content = try SecretBytes(count: MasterKey.size + 1) { buffer in
            while count < buffer.count {
                let got = Foundation.read(file.number, buffer.baseAddress?.advanced(by: count), buffer.count - count)
                if got <= 0 { break }
                count += got
            }
        }
        guard count == MasterKey.size else {
            throw KeyServiceServerError(.configurationInvalid, "\(path) does not have \(MasterKey.size) bytes.")
        }
        let box = try content.withUnsafeBytes {
            try SecretBox(SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0.prefix(MasterKey.size))))
        }
        return try MasterKey(box.take())
    }

    /// Makes a new master key and a file for it, durable when this returns.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if the file exists or cannot be written.
    static func create(path: String) throws -> MasterKey {
        let masterKey = try MasterKey.random()
        let file = try PrivateFile.create(path: path)
        let isWritten = masterKey.bytes.withUnsafeBytes { bytes in
            write(file.number, bytes.baseAddress, bytes.count) == bytes.count && fsync(file.number) == 0
                && PrivateFile.syncFolder(of: path)
        }
        guard isWritten else {
            unlink(path)
            throw KeyServiceServerError(.configurationInvalid, "\(path) cannot be written.")
        }
        return masterKey
    }
}

extension MasterKey {
    /// Makes a new master key in a new file that only its owner can read.
    ///
    /// - Returns: the name of the master key.
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if the file exists or cannot be written.
    package static func create(path: String) throws -> MasterKeyID {
        try MasterKeyFile.create(path: path).id
    }
}
