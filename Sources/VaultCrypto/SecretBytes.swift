internal import CSodium
internal import VaultBase

/// Bytes that must not outlive their use: a password, a key, a token.
///
/// They live in guarded memory (libsodium's `sodium_malloc`): on their own page, between guard pages, and outside core
/// dumps. If the limit on locked memory allows, they also stay out of swap. The memory is wiped when the value ends.
/// The type cannot be copied, compared, interpolated or printed. Only ``withUnsafeBytes(_:)`` reads the content. A
/// value costs at least three pages, so use it for keys, not for thousands of tokens.
public struct SecretBytes: ~Copyable, @unchecked Sendable {
    // Sendable is sound: the memory has one owner, and nothing writes to it after `init` except through `mutating`.
    private let base: UnsafeMutableRawPointer

    /// The number of bytes.
    public let count: Int

    /// Allocates `count` zero bytes, and lets `fill` write them.
    ///
    /// - Parameters:
    ///   - count: the size in bytes.
    ///   - fill: writes the content. If it throws, the memory is wiped and freed.
    /// - Throws: ``VaultCryptoError`` with code `outOfMemory`, or the error of `fill`.
    public init(count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
        guard count >= 0, let base = GuardedMemory.allocate(count) else { throw VaultCryptoError(.outOfMemory) }
        do {
            try fill(UnsafeMutableRawBufferPointer(start: base, count: count))
        } catch {
            GuardedMemory.free(base, count)
            throw error
        }
        self.base = base
        self.count = count
    }

    /// Copies `bytes` into guarded memory. The original stays where it is: wipe it if it can be wiped.
    public init(copying bytes: UnsafeRawBufferPointer) throws {
        try self.init(count: bytes.count) { $0.copyMemory(from: bytes) }
    }

    /// Copies `bytes` into guarded memory. The original stays where it is.
    public init(copying bytes: [UInt8]) throws {
        self = try bytes.withUnsafeBytes { try SecretBox(SecretBytes(copying: $0)) }.take()
    }

    /// Copies the UTF-8 form of `text` into guarded memory.
    ///
    /// The string cannot be wiped, so read a password directly into a `SecretBytes` if possible.
    public init(utf8 text: String) throws {
        var text = text
        self = try text.withUTF8 { try SecretBox(SecretBytes(copying: UnsafeRawBufferPointer($0))) }.take()
    }

    /// Makes `count` random bytes with the system's random generator.
    public static func random(count: Int) throws -> SecretBytes {
        try SecretBytes(count: count) { randombytes_buf($0.bytes, $0.count) }
    }

    deinit {
        GuardedMemory.free(base, count)
    }

    /// Calls `body` with the bytes. The pointer must not leave `body`.
    public borrowing func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try body(UnsafeRawBufferPointer(start: base, count: count))
    }

    /// Makes another guarded copy of the bytes.
    public borrowing func copy() throws -> SecretBytes {
        try SecretBytes(copying: UnsafeRawBufferPointer(start: base, count: count))
    }

    /// Whether both hold the same bytes. The time depends only on their length.
    public borrowing func isEqual(to other: borrowing SecretBytes) -> Bool {
        count == other.count && sodium_memcmp(base, other.base, count) == 0
    }

    /// Returns the bytes as text, for interfaces that need a string (an HTTP body). The string cannot be wiped, so drop
    /// it soon.
    ///
    /// - Returns: nil if the bytes are not valid UTF-8.
    public borrowing func utf8String() -> String? {
        withUnsafeBytes { String(validating: $0, as: UTF8.self) }
    }
}

/// A box that carries a ``SecretBytes`` through places for copyable values: a continuation, an escaping closure.
///
/// The last holder of the box calls ``take()``. A second call is an error, as a secret has one owner.
package final class SecretBox: Sendable {
    private let content: Lock<SecretBytes?>

    package init(_ content: consuming SecretBytes) {
        self.content = Lock(content)
    }

    package func take() throws -> SecretBytes {
        guard let content = content.withLock({ $0.take() }) else {
            throw VaultCryptoError(.invalidInput, "the secret was taken already")
        }
        return content
    }
}

extension UnsafeRawBufferPointer {
    /// The start address for C: never nil, even for an empty range.
    var bytes: UnsafePointer<UInt8> {
        baseAddress.map { $0.assumingMemoryBound(to: UInt8.self) } ?? UnsafePointer(Sodium.nothing)
    }
}

extension UnsafeMutableRawBufferPointer {
    /// The start address for C: never nil, even for an empty range.
    var bytes: UnsafeMutablePointer<UInt8> {
        baseAddress.map { $0.assumingMemoryBound(to: UInt8.self) } ?? Sodium.nothing
    }
}
