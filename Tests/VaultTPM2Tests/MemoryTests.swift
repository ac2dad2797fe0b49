#if TPM2
    import Foundation
    import TestSupport
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
            let (protected, secret) = try await provider.protectedUnseen(by: Person(pin))
            let value = try await HiddenBytes.value(ofPIN: pin)
            #expect(try secret.occurrences() == 0)
            #expect(try value.occurrences() == 0)

            try await provider.openUnseen(protected, secret, by: Person(pin))
            #expect(try secret.occurrences() == 0)
            #expect(try value.occurrences() == 0)

            let wrong = try await HiddenBytes.value(ofPIN: wrongPIN)
            #expect(try await provider.failure(protected, pin: wrongPIN).code == .wrongPIN)
            #expect(try wrong.occurrences() == 0)
        }
    }

    extension HiddenBytes {
        /// The authorization value that a PIN gives, computed where it leaves no traces on the stack.
        fileprivate static func value(ofPIN pin: String) async throws -> HiddenBytes {
            try await HardwareThread(limit: .seconds(120), clock: ContinuousClock(), late: "").run { _ in
                HiddenBytes(try AuthValue.of(pin: SecretBytes(utf8: pin)))
            }
        }
    }
#endif
