#if PKCS11
    import CPKCS11
    import TestSupport
    import Testing
    import VaultBiometric
    import VaultCrypto

    @testable import VaultPKCS11

    extension PKCS11Tests {
        @Suite("Damaged bytes never open as something else")
        struct DamageTests {
            let secret = TestSecret()

            private func mutated(_ bytes: [UInt8], _ random: inout some RandomNumberGenerator) -> [UInt8] {
                var bytes = bytes
                for _ in 0...Int.random(in: 0...2, using: &random) {
                    guard !bytes.isEmpty else { return [] }
                    let place = Int.random(in: 0..<bytes.count, using: &random)
                    switch Int.random(in: 0..<5, using: &random) {
                    case 0: bytes.removeSubrange(place...)
                    case 1: bytes.remove(at: place)
                    case 2: bytes.insert(.random(in: .min ... .max, using: &random), at: place)
                    case 3: bytes[place] = [0, 1, 0x7F, 0x80, 0xFF][Int.random(in: 0..<5, using: &random)]
                    default: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                    }
                }
                return bytes
            }

            @Test func `when stored bytes are damaged, then opening fails`() async throws {
                let token = try SoftToken()
                let protected = try await token.provider.protected(secret)
                var random = SystemRandomNumberGenerator()
                for count in 0..<protected.bytes.count {
                    #expect(throws: BiometricError.self) { _ = try SealedForm(Array(protected.bytes[..<count])) }
                }
                for _ in 0..<3000 {
                    let bytes = mutated(protected.bytes, &random)
                    guard bytes != protected.bytes else { continue }
                    let error = #expect(throws: BiometricError.self) { _ = try SealedForm(bytes) }
                    #expect(error?.code == .failed)
                }
                let person = Person()
                let cut = ProtectedSecret(bytes: Array(protected.bytes.dropLast()), label: "")
                #expect(try await token.provider.failure(cut, by: person).description.contains("damaged"))
                #expect(person.requests.isEmpty)

                for _ in 0..<150 {
                    var bytes = mutated(Array(protected.bytes.dropLast(32)), &random)
                    guard bytes != protected.bytes.dropLast(32) else { continue }
                    bytes += Checksum.of([bytes])
                    let error = try await token.provider.failure(ProtectedSecret(bytes: bytes, label: ""))
                    #expect([.failed, .hardwareMissing, .hardwareReplaced].contains(error.code), "\(error) \(bytes)")
                }
                #expect(try await token.provider.opened(protected) == secret.bytes)
            }

            @Test func `when decryption fails, then all errors look the same`() async throws {
                let token = try SoftToken()
                let protected = try await token.provider.protected(secret)
                let form = try SealedForm(protected.bytes)
                let start = try #require(
                    protected.bytes.indices.first { protected.bytes[$0...].starts(with: form.message) })
                var texts: Set<String> = []
                // Damage in the OAEP message, and in the AES-GCM envelope.
                for place in [start, start + 100, start + 255, protected.bytes.count - 40] {
                    var bytes = Array(protected.bytes.dropLast(32))
                    bytes[place] ^= 1
                    bytes += Checksum.of([bytes])
                    let error = try await token.provider.failure(ProtectedSecret(bytes: bytes, label: ""))
                    #expect(error.code == .failed)
                    texts.insert("\(error) \(error.underlying as Any)")
                }
                for value in [
                    CKR_ENCRYPTED_DATA_INVALID, CKR_ENCRYPTED_DATA_LEN_RANGE, CKR_GENERAL_ERROR, CKR_FUNCTION_FAILED,
                    CKR_DEVICE_ERROR, CKR_BUFFER_TOO_SMALL,
                ] {
                    let proxy = try TokenProxy(to: token.server) { _, message, forward in
                        message.call == .decrypt ? message.failing(value) : try forward(message)
                    }
                    defer { proxy.stop() }
                    let error = try await proxy.provider.failure(protected)
                    texts.insert("\(error) \(error.underlying as Any)")
                }
                #expect(texts.count == 1)
            }
        }
    }
#endif
