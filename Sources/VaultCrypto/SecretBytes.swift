internal import CSodium
internal import VaultLocks

/// Bytes that must not outlive their use: a password, a key, a token.
///
/// They live in guarded memory (libsodium's `sodium_malloc`): a page of their own, between guard pages, kept out of
/// core dumps and, where the limit on locked memory allows, out of swap. The memory is wiped when the value ends.
/// The type cannot be copied, compared, interpolated or printed; its content is read only inside
/// ``withUnsafeBytes(_:)``. A value costs at least three pages, so it is for keys, not for tokens by the thousand.
public struct SecretBytes: ~Copyable, @unchecked Sendable {
    // Sendable is sound: the memory has one owner, and nothing writes to it after `init` except through `mutating`.
    private let base: UnsafeMutableRawPointer

    /// How many bytes there are.
    public let count: Int

    /// Allocates `count` zero bytes, and lets `fill` write them.
    ///
    /// - Parameters:
    ///   - count: the size in bytes.
    ///   - fill: writes the content. When it throws, the memory is wiped and freed.
    /// - Throws: ``VaultCryptoError`` with code `outOfMemory`, or what `fill` throws.
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
    /// The string itself cannot be wiped, so read a password into a `SecretBytes` directly where that is possible.
    public init(utf8 text: String) throws {
        var text = text
        self = try text.withUTF8 { try SecretBox(SecretBytes(copying: UnsafeRawBufferPointer($0))) }.take()
    }

    /// `count` bytes from the system's random generator.
    public static func random(count: Int) throws -> SecretBytes {
        try SecretBytes(count: count) { randombytes_buf($0.bytes, $0.count) }
    }

    deinit {
        GuardedMemory.free(base, count)
    }

    /// The only way to read: the pointer is valid inside `body` and must not leave it.
    public borrowing func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try body(UnsafeRawBufferPointer(start: base, count: count))
    }

    /// Another guarded copy of the same bytes.
    public borrowing func copy() throws -> SecretBytes {
        try SecretBytes(copying: UnsafeRawBufferPointer(start: base, count: count))
    }

    /// Whether both hold the same bytes, in a time that depends only on their length.
    public borrowing func isEqual(to other: borrowing SecretBytes) -> Bool {
        count == other.count && sodium_memcmp(base, other.base, count) == 0
    }

    /// The bytes as text, for an interface that takes nothing else (an HTTP body). The string cannot be wiped:
    /// let it live as short as possible.
    ///
    /// - Returns: nil when the bytes are not valid UTF-8.
    public borrowing func utf8String() -> String? {
        withUnsafeBytes { String(validating: $0, as: UTF8.self) }
    }
}

/// Carries a ``SecretBytes`` through places that only take copyable values: a continuation, an escaping closure.
///
/// Whoever holds the box last calls ``take()``; a second call is an error, so that a secret has one owner.
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
    /// The start as C wants it: never nil, also where there are no bytes to point at.
    var bytes: UnsafePointer<UInt8> {
        baseAddress.map { $0.assumingMemoryBound(to: UInt8.self) } ?? UnsafePointer(Sodium.nothing)
    }
}

extension UnsafeMutableRawBufferPointer {
    /// The start as C wants it: never nil, also where there are no bytes to point at.
    var bytes: UnsafeMutablePointer<UInt8> {
        baseAddress.map { $0.assumingMemoryBound(to: UInt8.self) } ?? Sodium.nothing
    }
}
