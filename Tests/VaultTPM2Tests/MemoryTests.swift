#if TPM2
    import TestSupport
    import Testing
    import VaultBiometric
    import VaultCrypto

    @testable import VaultTPM2

    /// tpm2-tss, the library that speaks to the TPM, frees copies of the secret and of the authorization value without
    /// wiping them. This code cannot reach those copies. The PIN itself never gets there.
    ///
    /// Each test has its own process, so that what hundreds of other tests left in memory changes nothing.
    @Suite("The PIN does not stay in memory")
    struct MemoryTests {
        @Test func `when a call ends, then no PIN stays in memory`() async {
            await #expect(processExitsWith: .success) { try await Self.checkTraces(pcrs: []) }
        }

        @Test func `when PCRs are used, then no PIN stays in memory`() async {
            await #expect(processExitsWith: .success) { try await Self.checkTraces(pcrs: [7]) }
        }

        private static func checkTraces(pcrs: [Int]) async throws {
            let tpm = try SoftwareTPM()
            let provider = TPM2Provider(tpm.tcti, pcrs: pcrs)
            let (pin, wrongPIN) = (try HiddenBytes.digits(), try HiddenBytes.digits())
            let protected = try await provider.protect(SecretBytes.random(count: 32), prompt: QuietPerson(pin))
            #expect(try pin.occurrences() == 0)

            #expect(try await provider.unprotect(protected, prompt: QuietPerson(pin)).count == 32)
            #expect(try pin.occurrences() == 0)

            let error = await #expect(throws: BiometricError.self) {
                _ = try await provider.unprotect(protected, prompt: QuietPerson(wrongPIN))
            }
            #expect(error?.code == .wrongPIN)
            #expect(try wrongPIN.occurrences() == 0)
        }
    }
#endif
