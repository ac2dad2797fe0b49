#if FIDO2
    import Crypto
    import Foundation
    import Testing
    import VaultCrypto

    @testable import VaultFIDO2

    /// Bytes to look for in this process's memory, kept as two halves that give them when they are added.
    struct HiddenBytes: Sendable {
        private let first: [UInt8]
        private let second: [UInt8]

        init(_ bytes: borrowing SecretBytes) {
            let mask = SoftwareKey.random(bytes.count)
            first = mask
            second = bytes.withUnsafeBytes { zip($0, mask).map { $0 ^ $1 } }
        }

        /// A PIN of 24 digits.
        static func digits() throws -> HiddenBytes {
            HiddenBytes(
                try SecretBytes(count: 24) { target in
                    for index in target.indices { target[index] = UInt8.random(in: 0x30...0x39) }
                })
        }

        func guarded() throws -> SecretBytes {
            try SecretBytes(count: first.count) { target in
                for index in target.indices { target[index] = first[index] ^ second[index] }
            }
        }

        /// What a key keeps of it.
        func pinHash() async throws -> [UInt8] {
            let bytes = try guarded()
            return bytes.withUnsafeBytes { Array(SHA256.hash(data: $0).prefix(16)) }
        }

        /// How often they are in this process's memory now.
        func occurrences() throws -> Int {
            let memory = try #require(FileHandle(forReadingAtPath: "/proc/self/mem"))
            let maps = try #require(try FileHandle(forReadingAtPath: "/proc/self/maps")?.readToEnd())
            let size = 1 << 20
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
            defer {
                buffer.initializeMemory(as: UInt8.self, repeating: 0)
                buffer.deallocate()
            }
            var found = 0
            for line in String(decoding: maps, as: UTF8.self).split(separator: "\n") {
                let fields = line.split(separator: " ")
                let bounds = fields[0].split(separator: "-").compactMap { Int($0, radix: 16) }
                guard fields[1].hasPrefix("r"), bounds.count == 2 else { continue }
                // Overlapping reads, so that nothing lies across two of them unseen.
                for start in stride(from: bounds[0], to: bounds[1], by: size - first.count) {
                    let read = pread(
                        memory.fileDescriptor, buffer.baseAddress, min(size, bounds[1] - start), off_t(start))
                    if read > 0 {
                        found += matches(in: UnsafeRawBufferPointer(rebasing: buffer[..<read]), at: start, buffer)
                    }
                }
            }
            return found
        }

        private func matches(
            in bytes: UnsafeRawBufferPointer, at address: Int, _ own: UnsafeMutableRawBufferPointer
        ) -> Int {
            guard let base = bytes.baseAddress, let ownBase = own.baseAddress else { return 0 }
            let ownRange = Int(bitPattern: ownBase)..<Int(bitPattern: ownBase) + own.count
            var (found, offset) = (0, 0)
            while offset < bytes.count,
                let hit = memchr(base + offset, CInt(first[0] ^ second[0]), bytes.count - offset)
            {
                let start = UnsafeRawPointer(hit) - base
                let isWhole =
                    start + first.count <= bytes.count
                    && first.indices.allSatisfy { bytes[start + $0] == first[$0] ^ second[$0] }
                if isWhole && !ownRange.contains(address + start) { found += 1 }
                offset = start + 1
            }
            return found
        }
    }
#endif
