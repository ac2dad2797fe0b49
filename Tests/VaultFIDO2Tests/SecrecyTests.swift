#if FIDO2
    import Crypto
    import Foundation
    import TestSupport
    import Testing
    import VaultBiometric
    import VaultCrypto

    @testable import VaultFIDO2

    @Suite("Nothing secret gets out")
    struct SecrecyTests {
        @Test func `when an error is printed, then no secret appears`() async throws {
            let pin = "geheime PIN 4711"
            let secret = TestSecret()
            let key = SoftwareKey(pin: pin)
            let port = SoftwarePort(key)
            let provider = FIDO2Provider(port)
            let protected = try await provider.protected(secret, pin: pin)
            var errors: [any Error] = []
            func fails(_ typed: String) async throws {
                errors.append(try await provider.failure(protected, pin: typed))
                errors.append(try await provider.refusal(secret, by: Person(typed)))
            }
            try await fails(pin + "!")
            key.set(.late)
            try await fails(pin)
            key.set(.atOnce)
            port.changeAnswers { $0.count > 100 ? Array($0.dropLast(40)) : $0 }
            try await fails(pin)
            port.changeAnswers { $0 }
            try await fails(pin + String(repeating: "!", count: 60))
            port.unplug()
            try await fails(pin)
            var texts = errors.map { String(reflecting: $0) + "\($0)" }
            for error in errors {
                var text = ""
                dump(error, to: &text)
                texts.append(text)
            }
            var text = ""
            dump(provider, to: &text)
            dump(try KeyPIN(SecretBytes(utf8: pin)), to: &text)
            texts.append(text)
            for text in texts {
                #expect(!text.contains(pin))
                #expect(!text.contains(Data(secret.bytes).base64EncodedString()))
                #expect(!text.contains(secret.bytes.description.dropFirst().dropLast()))
            }
        }

        @Test func `when a call ends, then no secret stays in memory`() async throws {
            let (pin, wrongPIN) = (try HiddenBytes.digits(), try HiddenBytes.digits())
            let key = SoftwareKey(pin: nil)
            key.set(pinHash: try pin.pinHash())
            let provider = FIDO2Provider(SoftwarePort(key))
            // The copies that the test itself holds.
            let before = (pin: try pin.occurrences(), wrongPIN: try wrongPIN.occurrences())

            let (protected, secret) = try await provider.protectedUnseen(by: QuietPerson(pin))
            #expect(try secret.occurrences() == 0)
            #expect(try pin.occurrences() <= before.pin)
            try await provider.openUnseen(protected, secret, by: QuietPerson(pin))
            #expect(try secret.occurrences() == 0)
            #expect(try pin.occurrences() <= before.pin)
            #expect(try await provider.failure(protected, by: QuietPerson(wrongPIN)).code == .wrongPIN)
            #expect(try wrongPIN.occurrences() <= before.wrongPIN)
        }
    }

    extension HiddenBytes {
        /// The value that a key stores for a PIN.
        fileprivate func pinHash() throws -> [UInt8] {
            let bytes = try revealed()
            return bytes.withUnsafeBytes { Array(SHA256.hash(data: $0).prefix(16)) }
        }
    }
#endif
