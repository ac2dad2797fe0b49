#if TPM2
    import TestSupport
    import Testing
    import VaultBiometric
    import VaultCrypto

    @testable import VaultTPM2

    @Suite("Damaged bytes never open as something else")
    struct DamageTests {
        let tpm: SoftwareTPM
        let secret = TestSecret()

        init() throws { tpm = try SoftwareTPM() }

        private func mutated(_ bytes: [UInt8], _ random: inout some RandomNumberGenerator) -> [UInt8] {
            var bytes = bytes
            for _ in 0...Int.random(in: 0...2, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0: bytes.removeSubrange(place...)
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(.random(in: .min ... .max, using: &random), at: place)
                case 3: bytes[place] = [0, 1, 0x7F, 0x80, 0xFF][Int.random(in: 0..<5, using: &random)]
                default: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                }
                if bytes.isEmpty { return [] }
            }
            return bytes
        }

        @Test func `when stored bytes are damaged, then no PIN is requested`() async throws {
            let provider = TPM2Provider(tpm.tcti)
            let protected = try await provider.protected(secret, pin: "4711")
            var random = SystemRandomNumberGenerator()
            for count in 0..<protected.bytes.count {
                let start = ProtectedSecret(bytes: Array(protected.bytes[..<count]), label: "")
                #expect(throws: BiometricError.self) { _ = try SealedForm(start.bytes) }
            }
            for _ in 0..<5000 {
                let bytes = mutated(protected.bytes, &random)
                guard bytes != protected.bytes else { continue }
                let error = #expect(throws: BiometricError.self) { _ = try SealedForm(bytes) }
                #expect(error?.code == .failed, "\(bytes)")
            }
            let person = Person("4711")
            let cut = ProtectedSecret(bytes: Array(protected.bytes.dropLast()), label: "")
            #expect(try await provider.failure(cut, by: person).description.contains("damaged"))
            #expect(person.requests.isEmpty)
        }

        @Test(arguments: [[], [0, 7]])
        func `when damage passes the checksum, then no other secret opens`(_ pcrs: [Int]) async throws {
            let provider = TPM2Provider(tpm.tcti, pcrs: pcrs)
            let protected = try await provider.protected(secret, pin: "4711")
            var random = SystemRandomNumberGenerator()
            for _ in 0..<250 {
                var bytes = mutated(Array(protected.bytes.dropLast(32)), &random)
                bytes += Checksum.of([bytes])
                do {
                    let opened = try await provider.opened(ProtectedSecret(bytes: bytes, label: ""), pin: "4711")
                    #expect(opened == secret.bytes, "\(bytes)")
                } catch let error as BiometricError {
                    #expect([.failed, .hardwareReplaced].contains(error.code), "\(error) \(bytes)")
                }
            }
            #expect(try tpm.used() == 0)
            // The TPM counted none of it as a wrong PIN.
            let person = Person("4711")
            #expect(try await provider.opened(protected, by: person) == secret.bytes)
            #expect(person.requests.map(\.guessesLeft) == [3])
        }

        @Test func `when parts of secrets are mixed, then opening fails`() async throws {
            let provider = TPM2Provider(tpm.tcti)
            let first = try SealedForm(try await provider.protected(secret, pin: "4711").bytes)
            let second = try SealedForm(try await provider.protected(TestSecret(), pin: "4711").bytes)
            let mixed = SealedForm(
                keyName: first.keyName,
                object: SealedObject(publicArea: first.object.publicArea, privateArea: second.object.privateArea),
                policy: nil)
            let error = try await provider.failure(ProtectedSecret(bytes: mixed.bytes, label: ""), pin: "4711")
            #expect(error.code == .failed)
            #expect(error.description.contains("damaged"))
        }
    }
#endif
