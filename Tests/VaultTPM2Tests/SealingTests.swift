#if TPM2
    import TestSupport
    import Testing
    import VaultBiometric
    import VaultCrypto

    @testable import VaultTPM2

    @Suite("A TPM gives back what it sealed")
    struct SealingTests {
        let tpm: SoftwareTPM
        let provider: TPM2Provider
        let secret = TestSecret()

        init() throws {
            tpm = try SoftwareTPM()
            provider = TPM2Provider(tpm.tcti)
        }

        @Test func `when the PIN is right, then the secret opens`() async throws {
            let person = Person("4711")
            let protected = try await provider.protect(secret.guarded(), prompt: person)
            #expect(person.requests.map(\.label) == ["TPM 2.0 (IBM SW TPM)"])
            #expect(protected.label == "TPM 2.0 (IBM SW TPM)")
            #expect(protected.bytes.count < 1024)
            #expect(await provider.availability(of: protected) == .available)
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
            #expect(try await provider.failure(protected, pin: "4712").code == .wrongPIN)
            #expect(try tpm.used() == 0)
            try tpm.powerOff()
            try tpm.powerOn()
            #expect(try await TPM2Provider(tpm.tcti).opened(protected, pin: "4711") == secret.bytes)
            #expect(provider.kind == "tpm2")
            #expect(provider.limitsGuesses)
        }

        @Test func `when a PIN is long or unusual, then it works`() async throws {
            let long = String(repeating: "long passphrase ", count: 20)
            let endingInZero = try #require(
                try (0..<10_000).map(String.init).first {
                    try AuthValue.of(pin: SecretBytes(utf8: $0)).count < 32
                })
            for (chosen, typed) in [(long, long), ("pâté 🔑", "pa\u{302}te\u{301} 🔑"), (endingInZero, endingInZero)] {
                let protected = try await provider.protected(secret, pin: chosen)
                #expect(try await provider.opened(protected, pin: typed) == secret.bytes)
            }
            // The PINs differ only after the size of an authorization value.
            let protected = try await provider.protected(secret, pin: long + "1")
            #expect(try await provider.failure(protected, pin: long + "2").code == .wrongPIN)
        }

        @Test func `when the PIN is empty, then protecting fails`() async throws {
            for pin in ["", "1\u{0}2"] {
                let error = await #expect(throws: BiometricError.self) {
                    _ = try await provider.protected(secret, pin: pin)
                }
                #expect(error?.code == .failed)
            }
            let protected = try await provider.protected(secret, pin: "4711")
            #expect(try await provider.failure(protected, pin: "").code == .failed)
            let person = Person { _ in throw BiometricError(.cancelled, "No.") }
            #expect(try await provider.failure(protected, by: person).code == .cancelled)
            // Neither PIN reached the TPM.
            #expect(try await provider.failure(protected, pin: "1").guessesLeft == 2)
        }

        @Test func `when the owner's key is removed, then opening fails`() async throws {
            // A storage key, but not the one from the template.
            try tpm.provision("-g", "sha256", "-G", "ecc256:aes128cfb")
            let protected = try await provider.protected(secret, pin: "4711")
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
            #expect(try tpm.used() == 0)
            try tpm.tool("tpm2_evictcontrol", "-Q", "-C", "o", "-c", "0x81000001")
            #expect(try await provider.failure(protected, pin: "4711").code == .hardwareReplaced)
        }

        @Test(arguments: [["-G", "rsa"], ["-G", "ecc"]])
        func `when the owner adds a key, then earlier secrets open`(_ other: [String]) async throws {
            let protected = try await provider.protected(secret, pin: "4711")
            try tpm.provision(other[0], other[1])
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
        }

        @Test(arguments: [["-G", "rsa"], ["-G", "ecc384"]])
        func `when the owner's key is unfit, then derivation replaces it`(_ other: [String]) async throws {
            try tpm.provision(other[0], other[1])
            let protected = try await provider.protected(secret, pin: "4711")
            try tpm.tool("tpm2_evictcontrol", "-Q", "-C", "o", "-c", "0x81000001")
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
        }

        @Test func `when an owner password exists, then a stored key serves`() async throws {
            try tpm.tool("tpm2_changeauth", "-c", "owner", "geheim")
            guard case .unusable(let text) = await provider.availability(of: nil) else {
                Issue.record("There is no key that could be used.")
                return
            }
            #expect(text.contains("0x81000001"))
            try tpm.tool("tpm2_changeauth", "-c", "owner", "-p", "geheim")
            try tpm.provision("-G", "ecc")
            try tpm.tool("tpm2_changeauth", "-c", "owner", "geheim")
            let protected = try await provider.protected(secret, pin: "4711")
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
        }

        @Test func `when several TPMs work in parallel, then each opens`() async throws {
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask { [secret] in
                        let tpm = try SoftwareTPM()
                        let provider = TPM2Provider(tpm.tcti)
                        let protected = try await provider.protected(secret, pin: "4711")
                        for _ in 0..<10 {
                            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
                        }
                        #expect(try tpm.used() == 0)
                    }
                }
                try await group.waitForAll()
            }
        }
    }
#endif
