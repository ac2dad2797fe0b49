internal import Crypto
internal import Foundation
internal import KeyServiceCore
internal import VaultBase
internal import VaultCrypto

/// The changing key of an audit log. It makes the MAC of one line, and then changes into the key of the next line.
///
/// One HKDF-SHA512 of the key of line n gives 64 bytes: the key of line n + 1, and the key of HMAC-SHA256 for line n.
/// The old key is wiped. HKDF cannot be run backwards, so the later key says nothing about the MACs of earlier lines.
/// Each MAC also covers the MAC before it. So one MAC speaks for the whole log up to its line.
struct AuditKey: ~Copyable {
    /// The size of the key and of a MAC, in bytes.
    static let size = 32
    /// The value that stands for the previous MAC in the first line.
    static let firstMAC = [UInt8](repeating: 0, count: size)
    private static let purpose = "credential-vault/key-service/v1/audit-log-step"

    private(set) var bytes: SecretBytes

    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if there are not 32 bytes.
    init(_ bytes: consuming SecretBytes) throws {
        guard bytes.count == Self.size else {
            throw KeyServiceServerError(.configurationInvalid, "The key of an audit log must have 32 bytes.")
        }
        self.bytes = bytes
    }

    /// Returns the MAC of a line, and changes into the key of the next line.
    ///
    /// - Parameters:
    ///   - line: the bytes of the line before its MAC.
    mutating func authenticate(_ line: some Sequence<UInt8>, after previous: [UInt8]) throws -> [UInt8] {
        let step = try KeyDerivation.hkdf(bytes, info: Self.purpose, count: 2 * Self.size)
        let mac = step.withUnsafeBytes { step in
            var code = HMAC<SHA256>(key: SymmetricKey(data: UnsafeRawBufferPointer(rebasing: step[Self.size...])))
            code.update(data: previous)
            code.update(data: Array(line))
            return Array(code.finalize())
        }
        bytes = try step.withUnsafeBytes {
            try SecretBox(SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0[..<Self.size])))
        }.take()
        return mac
    }

    /// Changes into the key of the next line.
    mutating func skip() throws {
        _ = try authenticate([], after: Self.firstMAC)
    }
}

/// The newest line of an audit log in a few characters. Keep it on another machine: it shows a later cut of the log.
package struct AuditAnchor: Sendable, Hashable, CustomStringConvertible {
    /// The sequence number of the line.
    package let sequence: UInt64
    /// The MAC of the line.
    let mac: [UInt8]

    init(sequence: UInt64, mac: [UInt8]) {
        self.sequence = sequence
        self.mac = mac
    }

    /// Reads the text form `SEQUENCE:MAC`; nil for any other text.
    package init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 2, let sequence = UInt64(String(decoding: parts[0], as: UTF8.self)), sequence > 0,
            let mac = Hexadecimal.decode(parts[1]), mac.count == AuditKey.size
        else { return nil }
        self.init(sequence: sequence, mac: mac)
    }

    package var description: String {
        "\(sequence):\(String(decoding: Hexadecimal.encode(mac), as: UTF8.self))"
    }
}
