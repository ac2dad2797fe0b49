#if PKCS11
    import CPKCS11
    import Foundation
    import TestSupport
    import Testing
    import VaultBiometric

    @testable import VaultPKCS11

    extension PKCS11Tests {
        @Suite("A token counts wrong PINs")
        struct GuessTests {
            let secret = TestSecret()

            // Row: a token that counts wrong PINs, a TPM with a lockout password
            // Row: `pkcs11`
            @Test func `when three PINs are wrong, then the token locks`() async throws {
                let token = try TPMToken()
                let provider = token.provider
                let protected = try await provider.protected(secret, by: Person(TPMToken.pin))
                for _ in 1...3 { #expect(try await provider.failure(protected, by: Person("0815")).code == .wrongPIN) }
                #expect(try await provider.failure(protected, by: Person("0815")).code == .lockedOut)
                let locked = try await provider.failure(protected, by: Person(TPMToken.pin))
                #expect(locked.code == .lockedOut)
                #expect(locked.description.contains("own tools"))
                try token.setLimit(recovery: 1)
                while true {
                    do {
                        #expect(try await provider.opened(protected, by: Person(TPMToken.pin)) == secret.bytes)
                        break
                    } catch let error as BiometricError where error.code == .lockedOut {}
                }
            }

            @Test func `when few guesses remain, then the prompt says so`() async throws {
                let token = try SoftToken()
                let protected = try await token.provider.protected(secret)
                for (flags, low, final, left) in [
                    (0, false, false, nil), (CKF_USER_PIN_COUNT_LOW, true, false, nil),
                    (CKF_USER_PIN_FINAL_TRY, true, true, 1),
                    (CKF_USER_PIN_COUNT_LOW | CKF_USER_PIN_FINAL_TRY, true, true, 1),
                ] as [(UInt, Bool, Bool, Int?)] {
                    let proxy = try TokenProxy(to: token.server) { _, message, forward in
                        let answer = try forward(message)
                        return message.call == .getTokenInfo
                            ? answer.withFlags { $0 & ~0x70000 | UInt64(flags) } : answer
                    }
                    defer { proxy.stop() }
                    let person = Person("654321")
                    let error = try await proxy.provider.failure(protected, by: person)
                    #expect(error.code == .wrongPIN)
                    #expect(error.guessesLeft == left)
                    #expect(person.requests.map(\.isLow) == [low])
                    #expect(person.requests.map(\.isFinal) == [final])
                    #expect(person.requests.map(\.guessesLeft) == [left])
                }
                let proxy = try TokenProxy(to: token.server) { _, message, forward in
                    let answer = try forward(message)
                    return message.call == .getTokenInfo
                        ? answer.withFlags { $0 | UInt64(CKF_USER_PIN_LOCKED) } : answer
                }
                defer { proxy.stop() }
                let person = Person()
                #expect(try await proxy.provider.failure(protected, by: person).code == .lockedOut)
                #expect(try await proxy.provider.refusal(secret, by: person).code == .lockedOut)
                #expect(await proxy.provider.availability(of: protected) == .lockedOut(for: nil))
                #expect(await proxy.provider.availability(of: nil) == .lockedOut(for: nil))
                #expect(person.requests.isEmpty)
            }

            @Test func `when the last guess is wrong, then the token locks`() async throws {
                let token = try SoftToken()
                let protected = try await token.provider.protected(secret)
                let wasAsked = ThreadFlag()
                let proxy = try TokenProxy(to: token.server) { _, message, forward in
                    let answer = try forward(message)
                    if message.call == .logIn { wasAsked.raise(1) }
                    guard message.call == .getTokenInfo, wasAsked.level > 0 else { return answer }
                    return answer.withFlags { $0 | UInt64(CKF_USER_PIN_LOCKED) }
                }
                defer { proxy.stop() }
                let error = try await proxy.provider.failure(protected, by: Person("654321"))
                #expect(error.code == .lockedOut)
                #expect(error.description.contains("is wrong"))
            }

            // Row: a token made of software
            @Test func `when a token is software, then its limit is absent`() async throws {
                let token = try SoftToken()
                guard case .absent(let reason) = try await token.provider.guessLimit() else {
                    Issue.record("Nothing counts where the files are.")
                    return
                }
                #expect(reason.contains("\"vault\" is made of software"))
            }

            // Row: a TPM behind tpm2-pkcs11
            @Test func `when a token uses tpm2-pkcs11, then its limit is weak`() async throws {
                let token = try TPMToken()
                let environment = token.server.environment
                let uri = "pkcs11:?module-path=\(try Program.library("libtpm2_pkcs11.so"))"
                await #expect(processExitsWith: .success) {
                    [environment = environment as [String: String], uri = uri as String] in
                    for (name, value) in environment { setenv(name, value, 1) }
                    guard case .weak(let reason) = try await PKCS11Provider(uri).guessLimit() else {
                        Issue.record("Everybody may be able to set the TPM's count back.")
                        return
                    }
                    #expect(reason.contains("lockout password"))
                }
            }

            @Test(
                arguments: [
                    (CKR_PIN_LOCKED, BiometricError.Code.lockedOut, "too many"), (CKR_PIN_EXPIRED, .failed, "changed"),
                    (CKR_PIN_LEN_RANGE, .wrongPIN, "too short"), (CKR_PIN_INVALID, .wrongPIN, "characters"),
                    (CKR_USER_PIN_NOT_INITIALIZED, .unavailable, "no PIN yet"),
                    (CKR_FUNCTION_CANCELED, .cancelled, "cancelled"), (CKR_GENERAL_ERROR, .failed, "checking the PIN"),
                ] as [(UInt, BiometricError.Code, String)])
            func `when a login fails otherwise, then the error says why`(
                _ value: UInt, _ code: BiometricError.Code, _ words: String
            ) async throws {
                let token = try SoftToken()
                let protected = try await token.provider.protected(secret)
                let proxy = try TokenProxy(to: token.server) { _, message, forward in
                    message.call == .logIn ? message.failing(value) : try forward(message)
                }
                defer { proxy.stop() }
                let error = try await proxy.provider.failure(protected)
                #expect(error.code == code)
                #expect(error.description.contains(words), "\(error)")
            }
        }
    }
#endif
