#if TPM2
    import TestSupport
    import Testing
    import VaultBiometric
    import VaultCrypto

    @testable import VaultTPM2

    @Suite("A TPM opens only on a machine that has started as it had")
    struct PCRTests {
        let tpm: SoftwareTPM
        let provider: TPM2Provider
        let secret = TestSecret()

        init() throws {
            tpm = try SoftwareTPM()
            // More PCRs than a TPM reads at a time.
            provider = TPM2Provider(tpm.tcti, pcrs: [23, 0, 1, 2, 3, 4, 5, 7, 7, 11, 12])
        }

        private func extend(_ register: Int) throws {
            try tpm.tool("tpm2_pcrextend", "\(register):sha256=\(String(repeating: "ab", count: 32))")
        }

        @Test func `when a PCR has changed, then the error names it`() async throws {
            try extend(11)
            let protected = try await provider.protected(secret, pin: "4711")
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
            try extend(8)
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
            try extend(7)
            try extend(23)
            let person = Person("4711")
            let error = try await provider.failure(protected, by: person)
            #expect(error.code == .failed)
            #expect(error.description.contains("PCR 7 (Secure Boot), 23 (application) changed"))
            #expect(person.requests.isEmpty)
            #expect(await provider.availability(of: protected) == .unusable(error.description))
            // The value from the moment of protection.
            try tpm.reset()
            try extend(11)
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
            #expect(try tpm.used() == 0)
        }

        @Test func `when a PCR changes mid-typing, then no guess is counted`() async throws {
            let protected = try await provider.protected(secret, pin: "4711")
            let port = tpm.port
            let person = Person { _ in
                // TPM2_PCR_Event of PCR 7, with an empty password.
                let socket = try Socket.connected(to: .port(port))
                try socket.write(
                    [0x80, 0x02, 0, 0, 0, 31, 0, 0, 0x01, 0x3C, 0, 0, 0, 7, 0, 0, 0, 9, 0x40, 0, 0, 9, 0, 0, 0, 0, 0]
                        + [0, 2, 0xAB, 0xCD])
                _ = try socket.readMessage()
                return "4711"
            }
            let error = try await provider.failure(protected, by: person)
            #expect(error.code == .failed)
            #expect(error.description.contains("PCR 7 (Secure Boot) changed"))
            #expect(try tpm.used() == 0)
            #expect(try TPMConnection(tpm.tcti).guessCount().failures == 0)
            try tpm.reset()
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
        }

        @Test func `when the PIN is wrong, then a guess counts`() async throws {
            let protected = try await provider.protected(secret, pin: "4711")
            let error = try await provider.failure(protected, pin: "0815")
            #expect(error.code == .wrongPIN)
            #expect(error.guessesLeft == 2)
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
        }

        @Test func `when the stored policy is removed, then opening fails`() async throws {
            let protected = try await provider.protected(secret, pin: "4711")
            let form = try SealedForm(protected.bytes)
            try extend(7)
            let stripped = SealedForm(keyName: form.keyName, object: form.object, policy: nil)
            let error = try await provider.failure(ProtectedSecret(bytes: stripped.bytes, label: ""), pin: "4711")
            #expect(error.code == .failed)
            // The present values do not open it either.
            let tpm = try TPMConnection(tpm.tcti)
            let now = SealedForm(keyName: form.keyName, object: form.object, policy: try tpm.pcrPolicy(of: [7]))
            #expect(
                try await provider.failure(ProtectedSecret(bytes: now.bytes, label: ""), pin: "4711").code == .failed)
        }

        @Test func `when a register does not exist, then protecting fails`() async throws {
            let protected = try await TPM2Provider(tpm.tcti).protected(secret, pin: "4711")
            for register in [-1, 24, 1000] {
                let error = await #expect(throws: BiometricError.self) {
                    _ = try await TPM2Provider(tpm.tcti, pcrs: [register]).protected(secret, pin: "4711")
                }
                #expect(error?.code == .failed)
                #expect(error?.description.contains("0 to 23") == true)
                // A secret that was protected before keeps its PCR values.
                let opened = try await TPM2Provider(tpm.tcti, pcrs: [register]).opened(protected, pin: "4711")
                #expect(opened == secret.bytes)
            }
        }
    }
#endif
