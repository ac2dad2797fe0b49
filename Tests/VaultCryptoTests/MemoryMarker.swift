import Foundation
import Testing

@testable import VaultCrypto

/// Random letters that this process holds nowhere but where a test wrote them: kept as two halves that give the
/// letters when they are added.
struct MemoryMarker {
    let count = 32
    private let first: [UInt8]
    private let second: [UInt8]

    init() throws {
        first = try SecretBytes.random(count: 32).reveal()
        second = zip(first, try SecretBytes.random(count: 32).reveal()).map { $0 ^ (UInt8(ascii: "a") + $1 % 26) }
    }

    func write(into target: UnsafeMutableRawBufferPointer) {
        for index in 0..<count { target[index] = first[index] ^ second[index] }
    }

    /// How often the letters are in this process's memory now.
    func occurrences() throws -> Int {
        let memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
        try #require(memory >= 0)
        defer { close(memory) }
        let size = 1 << 20
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size + count, alignment: 16)
        defer {
            buffer.initializeMemory(as: UInt8.self, repeating: 0)
            buffer.deallocate()
        }
        let own = UInt(bitPattern: buffer.baseAddress)..<UInt(bitPattern: buffer.baseAddress! + buffer.count)
        var found = 0
        for range in try Self.readableRanges() {
            var address = range.lowerBound
            while address < range.upperBound {
                // Overlapping reads, so that no marker lies across two of them unseen.
                let wanted = min(size + count - 1, Int(range.upperBound - address))
                let read = pread(memory, buffer.baseAddress!, wanted, off_t(truncatingIfNeeded: address))
                if read > 0 { found += matches(in: buffer[..<read], at: address, except: own) }
                address += UInt(size)
            }
        }
        return found
    }

    private func matches(
        in buffer: Slice<UnsafeMutableRawBufferPointer>, at address: UInt, except own: Range<UInt>
    ) -> Int {
        let bytes = UnsafeRawBufferPointer(rebasing: buffer)
        var found = 0
        var offset = 0
        while let hit = memchr(bytes.baseAddress! + offset, CInt(first[0] ^ second[0]), bytes.count - offset) {
            let start = UnsafeRawPointer(hit) - bytes.baseAddress!
            let isWhole =
                start + count <= bytes.count && (0..<count).allSatisfy { bytes[start + $0] == first[$0] ^ second[$0] }
            if isWhole && !own.contains(address + UInt(start)) { found += 1 }
            offset = start + 1
        }
        return found
    }

    /// Where this process can have written anything.
    private static func readableRanges() throws -> [Range<UInt>] {
        // Read to the end: the size that the file system gives for it is 0.
        let maps = try #require(try FileHandle(forReadingAtPath: "/proc/self/maps")?.readToEnd())
        let ranges = String(decoding: maps, as: UTF8.self).split(separator: "\n").compactMap { line -> Range<UInt>? in
            let fields = line.split(separator: " ")
            let bounds = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            return fields[1].hasPrefix("r") && bounds.count == 2 ? bounds[0]..<bounds[1] : nil
        }
        try #require(ranges.count > 10)
        return ranges
    }
}
