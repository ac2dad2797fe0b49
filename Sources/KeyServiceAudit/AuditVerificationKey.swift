internal import Foundation
internal import KeyServiceCore
internal import VaultCrypto

/// The key of the first line of an audit log. It verifies the whole log, and can also forge the log. So keep the key on
/// another machine.
package struct AuditVerificationKey: ~Copyable {
    /// The start of the text form. Base64url of the 32 bytes follows.
    private static let prefix = Array("cva1.".utf8)
    private static let textSize = prefix.count + 43

    let bytes: SecretBytes

    init(_ bytes: consuming SecretBytes) {
        self.bytes = bytes
    }

    /// Reads the file of a key.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid`, which names the problem with the file.
    package init(path: String) throws {
        try PrivateFile.requirePrivate(path: path, kind: S_IFREG, forbidden: 0o077, ifMissing: .nameVerificationKey)
        let number = open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else {
            throw KeyServiceServerError(.configurationInvalid, "\(path) cannot be read (error \(errno)).")
        }
        let file = PrivateFile.Descriptor(number: number)
        var count = 0
        let content = try SecretBytes(count: Self.textSize + 2) { buffer in
            count = max(0, read(file.number, buffer.baseAddress, buffer.count))
        }
        let wrong = KeyServiceServerError(.configurationInvalid, "\(path) is not the verification key of an audit log.")
        let text = try content.withUnsafeBytes { bytes in
            let text = bytes[..<count]
            guard text.starts(with: Self.prefix), [0, 1].contains(count - Self.textSize),
                count == Self.textSize || text.last == UInt8(ascii: "\n")
            else { throw wrong }
            return try SecretBox(
                SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[Self.prefix.count..<Self.textSize])))
        }.take()
        // 43 characters always stand for 32 bytes.
        do {
            bytes = try SecretBase64.decode(text, .urlSafe)
        } catch {
            throw wrong
        }
    }

    /// Writes the key into a new file of mode 0600.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if the file exists or cannot be written.
    package borrowing func save(path: String) throws {
        let file = try PrivateFile.create(path: path)
        guard try write(to: file.number), fsync(file.number) == 0, PrivateFile.syncFolder(of: path) else {
            unlink(path)
            throw KeyServiceServerError(.configurationInvalid, "\(path) cannot be written.")
        }
    }

    /// Writes the key to an open file, such as a pipe to another machine.
    ///
    /// - Returns: whether that succeeded.
    package borrowing func write(to descriptor: Int32) throws -> Bool {
        let encoded = try SecretBase64.encode(bytes, .urlSafe)
        let text = try SecretBytes(count: Self.textSize + 1) { target in
            target.copyBytes(from: Self.prefix)
            encoded.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: target[Self.prefix.count...]).copyMemory(from: $0)
            }
            target[Self.textSize] = UInt8(ascii: "\n")
        }
        return text.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) == $0.count }
    }
}
