#if TPM2
    import CTPM2
    import Foundation
    import Testing
    import VaultBiometric
    import VaultCrypto

    @testable import VaultTPM2

    @Suite("Nothing secret stays in memory")
    struct MemoryTests {
        // Of this test alone: others run at the same time.
        private let pin = String(UInt64.random(in: .min ... .max))
        private let wrongPIN = String(UInt64.random(in: .min ... .max))

        @Test("after it was sealed, opened, or refused", arguments: [[], [7]])
        func noTraces(_ pcrs: [Int]) async throws {
            let tpm = try SoftwareTPM()
            let provider = TPM2Provider(tpm.tcti, pcrs: pcrs)
            let (protected, secret) = try await sealed(provider)
            let value = try await HiddenBytes.value(ofPIN: pin)
            #expect(try secret.occurrences() == 0)
            #expect(try value.occurrences() == 0)

            try await open(provider, protected, secret)
            #expect(try secret.occurrences() == 0)
            #expect(try value.occurrences() == 0)

            let wrong = try await HiddenBytes.value(ofPIN: wrongPIN)
            #expect(try await provider.failure(protected, pin: wrongPIN).code == .wrongPIN)
            #expect(try wrong.occurrences() == 0)
        }

        private func sealed(_ provider: TPM2Provider) async throws -> (ProtectedSecret, HiddenBytes) {
            let secret = try SecretBytes.random(count: 32)
            let hidden = try HiddenBytes(secret)
            let protected = try await provider.protect(secret, prompt: Person(pin))
            // Here, and nowhere else.
            #expect(try hidden.occurrences() == 1)
            return (protected, hidden)
        }

        private func open(_ provider: TPM2Provider, _ protected: ProtectedSecret, _ hidden: HiddenBytes) async throws {
            let secret = try await provider.unprotect(protected, prompt: Person(pin))
            #expect(try hidden.occurrences() == 1)
            #expect(secret.count == 32)
        }
    }

    /// Bytes to look for in this process's memory, kept as two halves that give them when they are added.
    struct HiddenBytes {
        private let first: [UInt8]
        private let second: [UInt8]

        init(_ bytes: borrowing SecretBytes) throws {
            let mask = (0..<bytes.count).map { _ in UInt8.random(in: .min ... .max) }
            first = mask
            second = bytes.withUnsafeBytes { zip($0, mask).map { $0 ^ $1 } }
        }

        /// The authorization value that a PIN gives, computed where it leaves no traces on the stack.
        static func value(ofPIN pin: String) async throws -> HiddenBytes {
            try await TPMThread(limit: .seconds(120), clock: ContinuousClock()).run { _ in
                try HiddenBytes(AuthValue.of(pin: SecretBytes(utf8: pin)))
            }
        }

        /// How often they are in this process's memory now.
        func occurrences() throws -> Int {
            let memory = try #require(FileHandle(forReadingAtPath: "/proc/self/mem"))
            let maps = try #require(try FileHandle(forReadingAtPath: "/proc/self/maps")?.readToEnd())
            let size = 1 << 20
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
            let wanted = UnsafeMutableRawBufferPointer.allocate(byteCount: first.count, alignment: 16)
            for index in first.indices { wanted[index] = first[index] ^ second[index] }
            defer {
                for own in [buffer, wanted] {
                    own.initializeMemory(as: UInt8.self, repeating: 0)
                    own.deallocate()
                }
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
                        let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<read])
                        found += matches(of: wanted, in: bytes, at: start, except: [buffer, wanted])
                    }
                }
            }
            return found
        }

        private func matches(
            of wanted: UnsafeMutableRawBufferPointer, in bytes: UnsafeRawBufferPointer, at address: Int,
            except own: [UnsafeMutableRawBufferPointer]
        ) -> Int {
            guard let base = bytes.baseAddress, let wantedBase = wanted.baseAddress else { return 0 }
            var (found, offset) = (0, 0)
            while let hit = memmem(base + offset, bytes.count - offset, wantedBase, wanted.count) {
                let start = UnsafeRawPointer(hit) - base
                let isOwn = own.contains {
                    let ownStart = Int(bitPattern: $0.baseAddress)
                    return (ownStart..<ownStart + $0.count).contains(address + start)
                }
                if !isOwn { found += 1 }
                offset = start + 1
            }
            return found
        }
    }
#endif
