#if FIDO2
    import TestSupport
    import Testing
    import VaultBiometric

    @testable import VaultFIDO2

    @Suite("A security key counts wrong PINs")
    struct GuessTests {
        let port = SoftwarePort(SoftwareKey(pin: "4711"))
        let secret = TestSecret()
        var provider: FIDO2Provider { FIDO2Provider(port) }

        @Test func `when three PINs are wrong, then the key needs replugging`() async throws {
            let protected = try await provider.protected(secret, pin: "4711")
            let person = Person("0815")
            let first = try await provider.failure(protected, by: person)
            #expect(first.code == .wrongPIN)
            #expect(first.guessesLeft == 7)
            #expect(try await provider.failure(protected, by: person).guessesLeft == 6)
            let third = try await provider.failure(protected, by: person)
            #expect(third.code == .lockedOut)
            #expect(third.description.contains("plug it in again"))
            #expect(person.requests.map(\.guessesLeft) == [8, 7, 6])
            #expect(person.requests.map(\.isLow) == [false, true, true])
            // The key does not even check the right PIN.
            #expect(try await provider.failure(protected, pin: "4711").code == .lockedOut)
            #expect(port.key.guessesLeft == 5)

            port.unplug()
            port.plug()
            #expect(try await provider.opened(protected, pin: "4711") == secret.bytes)
            #expect(port.key.guessesLeft == 8)
        }

        // Row: `fido2`
        @Test func `when eight PINs are wrong, then the key locks forever`() async throws {
            let protected = try await provider.protected(secret, pin: "4711")
            let person = Person("0815")
            for number in 1...7 {
                if number.isMultiple(of: 2) {
                    port.unplug()
                    port.plug()
                }
                _ = try await provider.failure(protected, by: person)
            }
            port.unplug()
            port.plug()
            let last = try await provider.failure(protected, by: person)
            #expect(person.requests.last?.isFinal == true)
            #expect(last.code == .lockedOut)
            #expect(last.description.contains("reset"))
            #expect(await provider.availability(of: protected) == .lockedOut(for: nil))
            #expect(await provider.availability(of: nil) == .lockedOut(for: nil))

            let right = Person("4711")
            #expect(try await provider.failure(protected, by: right).code == .lockedOut)
            #expect(try await provider.refusal(secret, by: right).code == .lockedOut)
            #expect(right.requests.isEmpty)
            #expect(right.instructions.isEmpty)
        }

        @Test func `when enrolment has a wrong PIN, then a guess counts`() async throws {
            let error = try await provider.refusal(secret, by: Person("0815"))
            #expect(error.code == .wrongPIN)
            #expect(error.guessesLeft == 7)
            #expect(port.count(of: .blinks) == 0)
        }

        @Test func `when the key has no PIN, then enrolment is refused`() async throws {
            let bare = SoftwarePort(SoftwareKey(pin: nil))
            let person = Person("4711")
            let error = try await FIDO2Provider(bare).refusal(secret, by: person)
            #expect(error.code == .unavailable)
            #expect(error.description.contains("no PIN"))
            #expect(await FIDO2Provider(bare).availability(of: nil) == .unusable(error.description))
            #expect(bare.key.commands.allSatisfy { $0 == [4] })

            let lenient = FIDO2Provider(bare, allowsTouchOnly: true)
            #expect(!lenient.limitsGuesses)
            let protected = try await lenient.protect(secret.guarded(), prompt: person)
            #expect(try await lenient.opened(protected, by: person) == secret.bytes)
            #expect(person.requests.isEmpty)
            #expect(person.instructions.count == 3)
            // A PIN that is set later does not affect a secret that was enrolled without a PIN.
            bare.key.set(pin: "4711")
            #expect(try await lenient.opened(protected, by: person) == secret.bytes)
            #expect(person.requests.isEmpty)
        }

        @Test func `when a key ignores its PIN, then enrolment is refused`() async throws {
            for (separatesSecrets, demandsPIN) in [(true, false), (true, true), (false, true), (false, false)] {
                var model = SoftwareKey.Model()
                model.separatesSecrets = separatesSecrets
                model.demandsPIN = demandsPIN
                let port = SoftwarePort(SoftwareKey(model, pin: "4711"))
                let person = Person("4711")
                if separatesSecrets || demandsPIN {
                    let protected = try await FIDO2Provider(port).protect(secret.guarded(), prompt: person)
                    #expect(try await FIDO2Provider(port).opened(protected, pin: "4711") == secret.bytes)
                } else {
                    let error = try await FIDO2Provider(port).refusal(secret, by: person)
                    #expect(error.code == .unavailable)
                    #expect(error.description.contains("after a touch without the PIN"))
                }
                #expect(person.instructions.count == 3)
            }
        }

        @Test func `when touch alone is allowed, then no PIN proof follows`() async throws {
            var model = SoftwareKey.Model()
            model.separatesSecrets = false
            let provider = FIDO2Provider(SoftwarePort(SoftwareKey(model, pin: "4711")), allowsTouchOnly: true)
            let person = Person("4711")
            let protected = try await provider.protect(secret.guarded(), prompt: person)
            #expect(person.instructions.count == 2)
            #expect(try await provider.opened(protected, by: person) == secret.bytes)
            #expect(person.requests.count == 2)
        }

        @Test func `when the PIN flag is removed, then opening fails`() async throws {
            let form = try StoredForm(try await provider.protected(secret, pin: "4711").bytes)
            let bare = StoredForm(
                needsPIN: false, salt: form.salt, credentialID: form.credentialID, sealed: form.sealed)
            let person = Person("4711")
            let error = try await provider.failure(ProtectedSecret(bytes: bare.bytes, label: ""), by: person)
            #expect(error.code == .failed)
            #expect(person.requests.isEmpty)
        }
    }
#endif
