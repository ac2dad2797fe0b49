internal import CSodium
internal import VaultBase

/// libsodium's guarded memory, with a few small blocks kept for the next secret.
///
/// `sodium_malloc` and `sodium_free` make a dozen system calls, which also interrupt the other processors. They would
/// take most of the time of a server with thousands of secrets a second.
enum GuardedMemory {
    /// The size of a kept block in bytes. Most secrets are keys of 32 to 64 bytes, and the state of an HMAC has 416.
    /// Larger blocks are not kept.
    private static let blockSize = 512
    /// The most kept blocks: more than a busy process uses at once. Every block costs one page of the limit for locked
    /// memory.
    private static let maxKept = 64

    /// The addresses of wiped, unused blocks.
    private static let kept = Lock<[UInt]>([])

    /// - Returns: zeroed guarded memory for `count` bytes; nil if there is none.
    static func allocate(_ count: Int) -> UnsafeMutableRawPointer? {
        guard Sodium.isReady else { return nil }
        if count <= blockSize, let address = kept.withLock({ $0.popLast() }) {
            return UnsafeMutableRawPointer(bitPattern: address)
        }
        let size = max(count, blockSize)
        guard let base = sodium_malloc(size) else { return nil }
        sodium_memzero(base, size)
        return base
    }

    /// Wipes memory from ``allocate(_:)`` and gives it back.
    static func free(_ base: UnsafeMutableRawPointer, _ count: Int) {
        guard count <= blockSize else { return sodium_free(base) }  // wipes it, too
        sodium_memzero(base, blockSize)
        let isKept = kept.withLock { kept in
            guard kept.count < maxKept else { return false }
            kept.append(UInt(bitPattern: base))
            return true
        }
        if !isKept { sodium_free(base) }
    }
}

/// The start of libsodium, which must come once before all other calls.
enum Sodium {
    static let isReady = sodium_init() >= 0

    /// A valid address for an empty range. The unsafe mark is sound, as nobody reads or writes there.
    nonisolated(unsafe) static let nothing = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)
}
