internal import CSodium
internal import VaultLocks

/// libsodium's guarded memory, with a few small blocks kept for the next secret.
///
/// Each `sodium_malloc` maps, protects and locks pages, and each `sodium_free` takes that back, in a dozen system calls
/// that interrupt the other processors too. A server that handles thousands of secrets a second would do little else.
enum GuardedMemory {
    /// Most secrets are keys: 32 to 64 bytes. What is larger is not kept.
    private static let blockSize = 256
    /// More than a busy process uses at once. Every block costs one page of the limit for locked memory.
    private static let maxKept = 64

    /// Addresses of wiped blocks that nobody uses.
    private static let kept = Lock<[UInt]>([])

    /// - Returns: zeroed guarded memory for `count` bytes, or nil when there is none.
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

/// libsodium has to be started once before anything else is called.
enum Sodium {
    static let isReady = sodium_init() >= 0

    /// A valid address for a range of no bytes. Unsafe, but sound: it is never written to nor read from.
    nonisolated(unsafe) static let nothing = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)
}
