#if TPM2
    import TestSupport
    import Testing
    import VaultBiometric

    @testable import VaultTPM2

    @Suite("A TPM counts wrong PINs")
    struct GuessTests {
        let tpm: SoftwareTPM
        let provider: TPM2Provider
        let secret = TestSecret()

        init() throws {
            tpm = try SoftwareTPM()
            provider = TPM2Provider(tpm.tcti)
        }

        private func setUp(guesses: Int = 3, recovery: Int) throws {
            try tpm.tool(
                "tpm2_dictionarylockout", "--setup-parameters", "--max-tries=\(guesses)", "--recovery-time=\(recovery)",
                "--lockout-recovery-time=1000")
        }

        // Row: a token that counts wrong PINs, a TPM with a lockout password
        // Row: `tpm2`
        @Test func `when three PINs are wrong, then the TPM locks`() async throws {
            try setUp(recovery: 7200)
            let protected = try await provider.protected(secret, pin: "4711")
            let person = Person("0815")
            #expect(try await provider.failure(protected, by: person).guessesLeft == 2)
            #expect(try await provider.failure(protected, by: person).guessesLeft == 1)
            #expect(person.requests.map(\.guessesLeft) == [3, 2])
            #expect(person.requests.map(\.isLow) == [false, true])
            let last = try await provider.failure(protected, by: person)
            #expect(person.requests.last?.isFinal == true)
            #expect(last.code == .lockedOut)
            #expect(last.endsAfter == .seconds(7200))
            #expect(last.description.contains("is wrong"))
            #expect(last.description.contains("2 hours"))

            #expect(await provider.availability(of: protected) == .lockedOut(for: .seconds(7200)))
            #expect(await provider.availability(of: nil) == .lockedOut(for: .seconds(7200)))
            let rightOne = Person("4711")
            let refused = try await provider.failure(protected, by: rightOne)
            #expect(refused.code == .lockedOut)
            #expect(!refused.description.contains("is wrong"))
            #expect(rightOne.requests.isEmpty)
            #expect(try tpm.used() == 0)

            try tpm.tool("tpm2_dictionarylockout", "--clear-lockout")
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
        }

        @Test func `when the recovery time is over, then the secret opens`() async throws {
            try setUp(recovery: 7200)
            let protected = try await provider.protected(secret, pin: "4711")
            for _ in 1...3 { _ = try await provider.failure(protected, pin: "0815") }
            // From here on, the recovery time is one second, and it starts again.
            try setUp(recovery: 1)
            while case .lockedOut = await provider.availability(of: protected) {}
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
        }

        @Test func `when guesses run out mid-typing, then opening reports lockout`() async throws {
            try setUp(recovery: 7200)
            let protected = try await provider.protected(secret, pin: "4711")
            let person = Person { [provider] _ in
                for _ in 1...3 { _ = try await provider.failure(protected, pin: "0815") }
                return "4711"
            }
            let error = try await provider.failure(protected, by: person)
            #expect(error.code == .lockedOut)
            #expect(error.endsAfter == .seconds(7200))
            #expect(try tpm.used() == 0)
        }

        @Test(arguments: [
            (guesses: 3, recovery: 0), (guesses: 1_000_000, recovery: 7200), (guesses: 3, recovery: 1),
            (guesses: 3, recovery: 60), (guesses: 900, recovery: 600),
        ])
        func `when the TPM hardly limits guesses, then protecting fails`(
            _ setting: (guesses: Int, recovery: Int)
        ) async throws {
            try setUp(guesses: setting.guesses, recovery: setting.recovery)
            let person = Person("4711")
            let error = await #expect(throws: BiometricError.self) {
                _ = try await provider.protect(secret.guarded(), prompt: person)
            }
            #expect(error?.code == .unavailable)
            #expect(person.requests.isEmpty)
            guard case .absent(let reason) = try await provider.guessLimit() else {
                Issue.record("Nothing is limited.")
                return
            }
            #expect(reason.contains("The TPM's owner can set limits."))
        }

        @Test(arguments: [(32, 600), (3, 1000), (32, 7200)])
        func `when a lockout password exists, then the limit is firm`(_ guesses: Int, _ recovery: Int) async throws {
            try setUp(guesses: guesses, recovery: recovery)
            guard case .weak(let reason) = try await provider.guessLimit() else {
                Issue.record("Everybody can set it back.")
                return
            }
            #expect(reason.contains("Set a password, and keep it elsewhere."))
            // A secret that also needs the key service can still use this TPM.
            let protected = try await provider.protected(secret, pin: "4711")
            try tpm.tool("tpm2_changeauth", "-c", "lockout", "elsewhere")
            #expect(try await provider.guessLimit() == .firm)
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
            // The firmware can clear the TPM, which ends the password and all protected secrets.
            try tpm.tool("tpm2_clear", "-c", "p")
            guard case .weak = try await provider.guessLimit() else {
                Issue.record("Everybody can set it back again.")
                return
            }
            #expect(try await provider.failure(protected, pin: "4711").code == .hardwareReplaced)
        }
    }
#endif
