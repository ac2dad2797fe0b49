internal import VaultCrypto

// The frame of a provider's stored bytes: the provider's word with a version, the content, and a checksum over both.
// The checksum tells damage apart from hardware that does not open the secret.

/// A writer of a provider's stored bytes.
package struct StoredBytesWriter {
    /// The bytes so far, without the checksum.
    package private(set) var bytes: [UInt8]

    package init(start: [UInt8]) { bytes = start }

    package mutating func append(_ content: [UInt8]) { bytes += content }

    /// Appends at most 65,535 bytes behind their count in two bytes, big-endian.
    package mutating func appendField(_ content: [UInt8]) {
        withUnsafeBytes(of: UInt16(truncatingIfNeeded: content.count).bigEndian) { bytes += $0 }
        bytes += content
    }

    package func finished() -> [UInt8] { bytes + Checksum.of([bytes]) }
}

package struct StoredBytesReader {
    private static let checksumSize = 32
    private var rest: ArraySlice<UInt8>
    private let damaged: BiometricError

    /// - Parameters:
    ///   - start: the word and the version.
    ///   - damaged: the error for damage, here and in later calls.
    package init(_ bytes: [UInt8], start: [UInt8], damaged: BiometricError) throws(BiometricError) {
        let end = bytes.count - Self.checksumSize
        guard bytes.starts(with: start), end >= start.count,
            Checksum.of([Array(bytes[..<end])]).elementsEqual(bytes[end...])
        else { throw damaged }
        rest = bytes[start.count..<end]
        self.damaged = damaged
    }

    /// Whether everything was read.
    package var isAtEnd: Bool { rest.isEmpty }

    package mutating func read(_ count: Int) throws(BiometricError) -> [UInt8] {
        guard rest.count >= count else { throw damaged }
        defer { rest.removeFirst(count) }
        return Array(rest.prefix(count))
    }

    /// Reads the next field of ``StoredBytesWriter/appendField(_:)``.
    package mutating func readField() throws(BiometricError) -> [UInt8] {
        let size = try read(2)
        return try read(Int(size[0]) << 8 | Int(size[1]))
    }

    package mutating func readRest() -> [UInt8] {
        defer { rest = [] }
        return Array(rest)
    }
}
