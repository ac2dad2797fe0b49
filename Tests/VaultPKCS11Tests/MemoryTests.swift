#if PKCS11
    import CPKCS11
    import Foundation
    import Testing
    import VaultBiometric
    import VaultCrypto

    @testable import VaultPKCS11

    extension PKCS11Tests {
        @Suite("Nothing secret stays in memory")
        struct MemoryTests {
            @Test("after it was protected, opened, or refused", arguments: ["%01", "%02"])
            func noTraces(_ id: String) async throws {
                let token = try SoftToken(keys: ["rsa:2048", "EC:prime256v1"], isPluggedIn: false)
                let module = try SoftToken.modulePath
                await #expect(processExitsWith: .success) {
                    [configuration = token.configuration as String, module = module as String, id = id as String] in
                    setenv("SOFTHSM2_CONF", configuration, 1)
                    let provider = PKCS11Provider("pkcs11:id=\(id)?module-path=\(module)")
                    let (protected, secret) = try await Self.sealed(provider)
                    #expect(try secret.occurrences() == 0)
                    try await Self.open(provider, protected, secret)
                    #expect(try secret.occurrences() == 0)
                    let person = try Forgetful()
                    let error = await #expect(throws: BiometricError.self) {
                        _ = try await provider.unprotect(protected, prompt: person)
                    }
                    #expect(error?.code == .wrongPIN)
                    #expect(try person.pin.occurrences() == 0)
                }
            }

            private static func sealed(_ provider: PKCS11Provider) async throws -> (ProtectedSecret, HiddenBytes) {
                let secret = try SecretBytes.random(count: 32)
                let hidden = try HiddenBytes(secret)
                let protected = try await provider.protect(secret, prompt: Person())
                // Here, and nowhere else.
                #expect(try hidden.occurrences() == 1)
                return (protected, hidden)
            }

            private static func open(
                _ provider: PKCS11Provider, _ protected: ProtectedSecret, _ hidden: HiddenBytes
            ) async throws {
                let secret = try await provider.unprotect(protected, prompt: Person())
                #expect(try hidden.occurrences() == 1)
                #expect(secret.count == 32)
            }
        }
    }

    /// Somebody with a PIN that is in memory only while it is typed.
    private struct Forgetful: BiometricPrompt {
        let pin: HiddenBytes

        init() throws { pin = try HiddenBytes(.random(count: 24)) }

        func pin(_ request: PINRequest) async throws -> SecretBytes { try pin.revealed() }
        func act(_ instruction: String) async {}
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

        func revealed() throws -> SecretBytes {
            try SecretBytes(count: first.count) { target in
                for index in first.indices { target[index] = first[index] ^ second[index] }
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
