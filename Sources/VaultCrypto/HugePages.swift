internal import Foundation

/// Memory for Argon2id in pages of 2 MiB, if the kernel has them on request. With pages of 4 KiB, getting 64 MiB takes
/// a quarter of the whole time of Argon2id. libargon2 wipes the memory before it frees it.
enum HugePages {
    private static let size = 2 << 20

    /// - Returns: 0, or another number if there is not enough memory.
    static func allocate(_ place: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?, _ count: Int) -> CInt {
        var memory: UnsafeMutableRawPointer?
        let result = posix_memalign(&memory, count < size ? 16 : size, count)
        guard result == 0, let memory, let place else { return result == 0 ? EINVAL : result }
        // A failure only costs speed.
        if count >= size { _ = madvise(memory, count, MADV_HUGEPAGE) }
        place.pointee = memory.assumingMemoryBound(to: UInt8.self)
        return 0
    }

    static func free(_ memory: UnsafeMutablePointer<UInt8>?, _ count: Int) { Foundation.free(memory) }
}
