internal import Foundation
internal import Testing
package import VaultBiometric
package import VaultCrypto

/// Bytes to search for in this process's memory. They are kept as two halves, which give the bytes when combined.
package struct HiddenBytes: Sendable {
    private let first: [UInt8]
    private let second: [UInt8]

    package var count: Int { first.count }

    package init(_ bytes: borrowing SecretBytes) {
        let mask = (0..<bytes.count).map { _ in UInt8.random(in: .min ... .max) }
        first = mask
        second = bytes.withUnsafeBytes { zip($0, mask).map { $0 ^ $1 } }
    }

    /// Random digits: a PIN, or a password.
    package static func digits(count: Int = 24) throws -> HiddenBytes {
        HiddenBytes(
            try SecretBytes(count: count) { target in
                for index in target.indices { target[index] = UInt8.random(in: 0x30...0x39) }
            })
    }

    package func write(into target: UnsafeMutableRawBufferPointer) {
        for index in first.indices { target[index] = first[index] ^ second[index] }
    }

    package func revealed() throws -> SecretBytes { try SecretBytes(count: count, write) }

    /// The number of times that the bytes are in this process's memory now.
    package func occurrences() throws -> Int {
        let memory = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/mem"))
        let size = 1 << 20
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
        defer {
            buffer.initializeMemory(as: UInt8.self, repeating: 0)
            buffer.deallocate()
        }
        let wanted = try revealed()
        return try wanted.withUnsafeBytes { wanted in
            let own = [UnsafeRawBufferPointer(buffer), wanted].map { bytes in
                let start = Int(bitPattern: bytes.baseAddress)
                return start..<start + bytes.count
            }
            var found = 0
            for range in try Self.readableRanges() {
                // Reads overlap, so that each match lies whole in exactly one read.
                for start in stride(from: range.lowerBound, to: range.upperBound, by: size - wanted.count + 1) {
                    let read = pread(
                        memory.fileDescriptor, buffer.baseAddress, min(size, range.upperBound - start), off_t(start))
                    guard read > 0 else { continue }
                    let places = Self.places(of: wanted, in: UnsafeRawBufferPointer(rebasing: buffer[..<read]))
                    found += places.count { place in !own.contains { $0.contains(start + place) } }
                }
            }
            return found
        }
    }

    private static func places(of wanted: UnsafeRawBufferPointer, in bytes: UnsafeRawBufferPointer) -> [Int] {
        guard let base = bytes.baseAddress, let wantedBase = wanted.baseAddress else { return [] }
        var places: [Int] = []
        var offset = 0
        while bytes.count - offset >= wanted.count,
            let hit = memchr(base + offset, CInt(wanted[0]), bytes.count - offset - wanted.count + 1)
        {
            if memcmp(hit, wantedBase, wanted.count) == 0 { places.append(UnsafeRawPointer(hit) - base) }
            offset = UnsafeRawPointer(hit) - base + 1
        }
        return places
    }

    /// The memory that this process can have written to.
    private static func readableRanges() throws -> [Range<Int>] {
        // Read to the end, because the file system gives its size as 0.
        let maps = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/maps")).readToEnd() ?? Data()
        let ranges = String(decoding: maps, as: UTF8.self).split(separator: "\n").compactMap { line -> Range<Int>? in
            let fields = line.split(separator: " ")
            let bounds = fields[0].split(separator: "-").compactMap { Int($0, radix: 16) }
            return fields[1].hasPrefix("r") && bounds.count == 2 ? bounds[0]..<bounds[1] : nil
        }
        try #require(ranges.count > 10)
        return ranges
    }
}

extension BiometricProvider {
    /// Protects a secret. No memory outside this value holds it.
    package func protectedUnseen(by person: any BiometricPrompt) async throws -> (ProtectedSecret, HiddenBytes) {
        let secret = try SecretBytes.random(count: 32)
        let hidden = HiddenBytes(secret)
        let protected = try await protect(secret, prompt: person)
        #expect(try hidden.occurrences() == 1)
        return (protected, hidden)
    }

    /// Opens a secret. Afterwards, no memory outside this value holds it.
    package func openUnseen(
        _ protected: ProtectedSecret, _ hidden: HiddenBytes, by person: any BiometricPrompt
    ) async throws {
        let secret = try await unprotect(protected, prompt: person)
        #expect(try hidden.occurrences() == 1)
        #expect(secret.count == 32)
    }
}
