#if FIDO2
    import TestSupport
    import Testing
    import VaultBiometric

    @testable import VaultFIDO2

    @Suite("What a key once said is understood")
    struct RecordingTests {
        @Test func `when a recording knows the credential, then it is available`() async throws {
            let recording = try Recording("known")
            #expect(await FIDO2Provider(devices: recording).availability(of: recording.stored) == .available)
            #expect(await FIDO2Provider(devices: recording).availability(of: nil) == .available)
            let person = Person { _ in throw BiometricError(.cancelled, "No.") }
            #expect(
                try await FIDO2Provider(devices: recording).failure(recording.stored, by: person).code == .cancelled)
            #expect(person.requests == [PINRequest(label: "Solo", guessesLeft: 8, length: 4...63)])
            #expect(person.instructions.isEmpty)
        }

        @Test func `when a recording lacks the credential, then opening fails`() async throws {
            let recording = try Recording("unknown")
            #expect(await FIDO2Provider(devices: recording).availability(of: recording.stored) == .missing)
            let error = try await FIDO2Provider(devices: recording).failure(recording.stored, pin: "4711")
            #expect(error.code == .hardwareReplaced)
        }

        @Test func `when a recorded PIN is wrong, then seven guesses remain`() async throws {
            let recording = try Recording("wrong-pin")
            let error = try await FIDO2Provider(devices: recording).failure(recording.stored, pin: "4712")
            #expect(error.code == .wrongPIN)
            #expect(error.guessesLeft == 7)
        }

        @Test func `when a recording is blocked, then no PIN is requested`() async throws {
            let recording = try Recording("blocked")
            let provider = FIDO2Provider(devices: recording)
            let person = Person("4711")
            let error = try await provider.failure(recording.stored, by: person)
            #expect(error.code == .lockedOut)
            #expect(error.description.contains("plug it in again"))
            #expect(person.requests.isEmpty)
            #expect(await provider.availability(of: recording.stored) == .lockedOut(for: nil))
        }
    }
#endif
