internal import Foundation

/// Memory for Argon2id in pages of 2 MiB, where the kernel has them for whoever asks: getting 64 MiB in pages of 4 KiB takes a
/// quarter of the time that all of Argon2id does. libargon2 wipes the memory before it gives it back.
enum HugePages {
    private static let size = 2 << 20

    /// - Returns: 0; anything else when there is not enough memory.
    static func allocate(_ place: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?, _ count: Int) -> CInt {
        var memory: UnsafeMutableRawPointer?
        let result = posix_memalign(&memory, count < size ? 16 : size, count)
        guard result == 0, let memory, let place else { return result == 0 ? EINVAL : result }
        // Without them it is slower, and nothing else.
        if count >= size { _ = madvise(memory, count, MADV_HUGEPAGE) }
        place.pointee = memory.assumingMemoryBound(to: UInt8.self)
        return 0
    }

    static func free(_ memory: UnsafeMutablePointer<UInt8>?, _ count: Int) { Foundation.free(memory) }
}
