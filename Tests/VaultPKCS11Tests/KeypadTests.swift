#if PKCS11
    import CPKCS11
    import TestSupport
    import Testing
    import VaultBiometric

    @testable import VaultPKCS11

    extension PKCS11Tests {
        @Suite("A token with a keypad asks for its PIN itself")
        struct KeypadTests {
            let secret = TestSecret()

            /// A reader with a keypad in front of a token without one. A login without a PIN gets the PIN that was
            /// typed on the keypad.
            private func reader(_ token: SoftToken, typed: String, flags: UInt = 0) throws -> TokenProxy {
                try TokenProxy(to: token.server) { _, message, forward in
                    var message = message
                    if message.call == .logIn {
                        // The flag for a PIN follows the call's number, its signature, the session and the user.
                        let start = 4 + 4 + "uuay".utf8.count + 8 + 8
                        try #require(message.body[start] == 0, "A PIN was sent to a token with a keypad.")
                        let size = withUnsafeBytes(of: UInt32(typed.utf8.count).bigEndian) { Array($0) }
                        message.body.replaceSubrange(start..., with: [1] + size + Array(typed.utf8))
                    }
                    let answer = try forward(message)
                    guard message.call == .getTokenInfo else { return answer }
                    return answer.withFlags { $0 | UInt64(CKF_PROTECTED_AUTHENTICATION_PATH | flags) }
                }
            }

            @Test(arguments: [[], ["--always-auth"]])
            func `when a token has a keypad, then instructions replace prompts`(_ more: [String]) async throws {
                let token = try SoftToken(keys: [])
                if more.isEmpty {
                    try token.makeKey("rsa:2048", id: "01")
                } else {
                    try token.makeKey("rsa:2048", id: "01", "--usage-decrypt", more[0])
                }
                let reader = try reader(token, typed: SoftToken.pin)
                defer { reader.stop() }
                let person = Person()
                let protected = try await reader.provider.protected(secret, by: person)
                #expect(try await reader.provider.opened(protected, by: person) == secret.bytes)
                #expect(person.requests.isEmpty)
                #expect(person.instructions.count == 2)
                #expect(person.instructions.allSatisfy { $0.contains("\"vault\"") && $0.contains("keypad") })

                let last = try self.reader(token, typed: "654321", flags: CKF_USER_PIN_FINAL_TRY)
                defer { last.stop() }
                let warned = Person()
                let error = try await last.provider.failure(protected, by: warned)
                #expect(error.code == .wrongPIN)
                #expect(error.guessesLeft == 1)
                #expect(warned.instructions.allSatisfy { $0.contains("last guess") })
            }

            @Test(.timeLimit(.minutes(1)))
            func `when a token awaits touch, then an instruction says so`() async throws {
                let token = try SoftToken()
                let protected = try await token.provider.protected(secret)
                let (clock, finger) = (HandClock(), ThreadGate())
                defer { finger.open() }
                let proxy = try TokenProxy(to: token.server) { _, message, forward in
                    if message.call == .decrypt {
                        clock.ring(longest: .seconds(30))
                        finger.pass()
                    }
                    return try forward(message)
                }
                defer { proxy.stop() }
                let provider = PKCS11Provider(uri: proxy.uri, timeLimit: .seconds(60), clock: clock)
                let person = Person(action: { _ in finger.open() })
                #expect(try await provider.opened(protected, by: person) == secret.bytes)
                #expect(person.instructions.map { $0.contains("\"vault\" blinks, touch it") } == [true])
            }
        }
    }
#endif
