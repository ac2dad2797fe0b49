#if FIDO2
    import TestSupport
    import Testing
    import VaultBiometric
    import VaultCrypto

    @testable import VaultFIDO2

    @Suite("A security key gives back what it protects")
    struct SecretTests {
        let port = SoftwarePort(SoftwareKey(pin: "4711"))
        let secret = TestSecret()
        var provider: FIDO2Provider { FIDO2Provider(port) }

        @Test func `when PIN and touch are right, then the secret opens`() async throws {
            let enrolling = Person("4711")
            let protected = try await provider.protect(secret.guarded(), prompt: enrolling)
            #expect(protected.label == "Software Key")
            #expect(protected.bytes.count < 1024)
            #expect(enrolling.requests.map(\.label) == ["Software Key"])
            #expect(enrolling.requests.map(\.length) == [4...63])
            #expect(
                enrolling.instructions == [
                    "Touch the security key (Software Key).", "Touch the security key (Software Key) again.",
                    "Touch the security key (Software Key) once more. This checks that its PIN counts.",
                ])
            #expect(await provider.availability(of: protected) == .available)
            #expect(await provider.availability(of: nil) == .available)
            #expect(port.count(of: .blinks) == 3)

            let opening = Person("4711")
            #expect(try await provider.opened(protected, by: opening) == secret.bytes)
            #expect(opening.requests.map(\.guessesLeft) == [8])
            #expect(opening.instructions == ["Touch the security key (Software Key)."])
            #expect(port.count(of: .blinks) == 4)
            port.unplug()
            port.plug()
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
            #expect(provider.kind == "fido2")
            #expect(provider.limitsGuesses)
        }

        @Test(arguments: [([1], false), ([1], true), ([2], true), ([2, 1], false), ([1, 2], true)])
        func `when the PIN protocol varies, then the secret still opens`(
            _ numbers: [Int], _ hasPermissions: Bool
        ) async throws {
            var model = SoftwareKey.Model()
            model.protocols = numbers
            model.hasPermissions = hasPermissions
            let provider = FIDO2Provider(SoftwarePort(SoftwareKey(model, pin: "4711")))
            let protected = try await provider.protected(secret, pin: "4711")
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
            #expect(try await provider.failure(protected, pin: "4712").code == .wrongPIN)
        }

        @Test func `when a PIN is long or decomposed, then it works`() async throws {
            let long = String(repeating: "0123456789", count: 6) + "abc"
            for (chosen, typed) in [(long, long), ("p\u{E2}t\u{E9} 🔑", "pa\u{302}te\u{301} 🔑")] {
                let provider = FIDO2Provider(SoftwarePort(SoftwareKey(pin: chosen)))
                let protected = try await provider.protected(secret, pin: typed)
                #expect(try await provider.opened(protected, pin: typed) == secret.bytes)
            }
        }

        @Test(arguments: ["", "123", "12\u{0}45", String(repeating: "1", count: 64)])
        func `when a PIN is impossible, then no guess is counted`(_ pin: String) async throws {
            let protected = try await provider.protected(secret, pin: "4711")
            #expect(try await provider.refusal(secret, by: Person(pin)).code == .failed)
            #expect(try await provider.failure(protected, pin: pin).code == .failed)
            #expect(port.key.guessesLeft == 8)
            #expect(port.count(of: .blinks) == 3)
        }

        @Test func `when the key wants longer PINs, then shorter ones fail`() async throws {
            var model = SoftwareKey.Model()
            model.shortestPIN = 6
            let key = SoftwareKey(model, pin: "471100")
            let provider = FIDO2Provider(SoftwarePort(key))
            let person = Person("471100")
            let protected = try await provider.protect(secret.guarded(), prompt: person)
            #expect(try await provider.opened(protected, by: person) == secret.bytes)
            #expect(person.requests.map(\.length) == [6...63, 6...63])
            // A shorter PIN costs no guess.
            #expect(try await provider.failure(protected, pin: "47110").code == .failed)
            #expect(try await provider.refusal(secret, by: Person("47110")).code == .failed)
            #expect(key.guessesLeft == 8)
        }

        @Test func `when one secret is protected twice, then all values differ`() async throws {
            let first = try StoredForm(try await provider.protected(secret, pin: "4711").bytes)
            let second = try StoredForm(try await provider.protected(secret, pin: "4711").bytes)
            #expect(first.salt != second.salt)
            #expect(first.credentialID != second.credentialID)
            #expect(first.sealed != second.sealed)
            // A secret from one credential does not open data that another credential sealed.
            let mixed = StoredForm(
                needsPIN: true, salt: first.salt, credentialID: first.credentialID, sealed: second.sealed)
            let error = try await provider.failure(ProtectedSecret(bytes: mixed.bytes, label: ""), pin: "4711")
            #expect(error.code == .failed)
            #expect(error.description.contains("another answer"))
        }

        @Test func `when a secret is not 32 bytes, then protecting fails`() async throws {
            let error = await #expect(throws: BiometricError.self) {
                _ = try await provider.protect(SecretBytes(copying: [1, 2, 3]), prompt: Person("4711"))
            }
            #expect(error?.code == .failed)
        }

        @Test func `when several keys work in parallel, then each opens`() async throws {
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask { [secret] in
                        let provider = FIDO2Provider(SoftwarePort(SoftwareKey(pin: "4711")))
                        let protected = try await provider.protected(secret, pin: "4711")
                        for _ in 0..<5 {
                            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }
#endif
