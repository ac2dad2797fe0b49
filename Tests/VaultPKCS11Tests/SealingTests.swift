#if PKCS11
    import CPKCS11
    import Foundation
    import TestSupport
    import Testing
    import VaultBiometric
    import VaultCrypto

    @testable import VaultPKCS11

    /// The tests run one after the other, because p11-kit notices new modules only while none is in use.
    @Suite(.serialized) enum PKCS11Tests {}

    extension PKCS11Tests {
        @Suite("A token gives back what was protected with it")
        struct SealingTests {
            let secret = TestSecret()

            @Test func `when the PIN is right, then the secret opens`() async throws {
                let token = try SoftToken()
                let proxy = try TokenProxy(to: token.server)
                defer { proxy.stop() }
                let provider = proxy.provider
                #expect(await provider.availability(of: nil) == .available)
                let person = Person()
                let protected = try await provider.protected(secret, by: person)
                #expect(person.requests.map(\.label) == ["vault"])
                #expect(person.requests.map(\.length) == [4...255])
                #expect(protected.label == "vault")
                #expect(protected.bytes.count < 1024)
                #expect(await provider.availability(of: protected) == .available)
                #expect(try await provider.opened(protected) == secret.bytes)
                let wrong = try await provider.failure(protected, by: Person("654321"))
                #expect(wrong.code == .wrongPIN)
                #expect(wrong.guessesLeft == nil)
                #expect(proxy.count(.logIn) == 3)
                #expect(proxy.count(.logOut) == 2)
                #expect(proxy.count(.openSession) == proxy.count(.closeSession))
                #expect(proxy.count(.initialize) == proxy.count(.finalize))

                token.server.unplug()
                try token.server.plugIn()
                // The stored description finds the token among all modules.
                #expect(try await PKCS11Provider("pkcs11:").opened(protected) == secret.bytes)
                #expect(provider.kind == "pkcs11")
                #expect(provider.limitsGuesses)
            }

            @Test func `when a PIN is unusable, then no login is sent`() async throws {
                let token = try SoftToken()
                let proxy = try TokenProxy(to: token.server)
                defer { proxy.stop() }
                #expect(try await proxy.provider.refusal(secret, by: Person("")).code == .failed)
                let person = Person { _ in throw BiometricError(.cancelled, "No.") }
                #expect(try await proxy.provider.refusal(secret, by: person).code == .cancelled)
                // A PIN that the token cannot have is not tried either.
                let protected = try await token.provider.protected(secret)
                for pin in ["123", String(repeating: "1", count: 256)] {
                    let refusal = try await proxy.provider.refusal(secret, by: Person(pin))
                    #expect(refusal.code == .wrongPIN)
                    #expect(refusal.description.contains("4 to 255"))
                    #expect(try await proxy.provider.failure(protected, by: Person(pin)).code == .wrongPIN)
                }
                #expect(proxy.count(.logIn) == 0)
                await #expect(throws: BiometricError.self) {
                    _ = try await proxy.provider.protect(.random(count: 31), prompt: Person())
                }
                // Every begun session is ended, even if the call ended at the PIN prompt.
                while proxy.count(.initialize) > proxy.count(.finalize) { await Task.yield() }
            }

            @Test func `when the URI names a key, then that key seals`() async throws {
                let token = try SoftToken(keys: ["rsa:1024", "rsa:2048"])
                try token.makeKey("rsa:2048", id: "03")
                #expect(try SealedForm(await token.provider.protected(secret).bytes).keyID == [2])
                for (query, id) in [("object=key%2003", UInt8(3)), ("id=%03", 3), ("id=%02;token=vault", 2)] {
                    let provider = PKCS11Provider("pkcs11:\(query)?module-name=\(token.server.module)")
                    let protected = try await provider.protected(secret)
                    #expect(try SealedForm(protected.bytes).keyID == [id])
                    #expect(try await token.provider.opened(protected) == secret.bytes)
                }
                // One key is too short, and one does not exist.
                for id in ["%01", "%09"] {
                    let provider = PKCS11Provider("pkcs11:id=\(id)?module-name=\(token.server.module)")
                    #expect(try await provider.refusal(secret).code == .keyMissing)
                }
            }

            @Test func `when each use needs the PIN, then one prompt suffices`() async throws {
                let token = try SoftToken(keys: [])
                try token.makeKey("rsa:2048", id: "01", "--usage-decrypt", "--always-auth")
                let proxy = try TokenProxy(to: token.server)
                defer { proxy.stop() }
                let protected = try await proxy.provider.protected(secret)
                let before = proxy.count(.logIn)
                let person = Person()
                #expect(try await proxy.provider.opened(protected, by: person) == secret.bytes)
                #expect(person.requests.count == 1)
                #expect(proxy.count(.logIn) == before + 2)
            }

            @Test func `when a token supports SHA-256, then OAEP uses it`() async throws {
                let soft = try SoftToken()
                let weaker = try await soft.provider.protected(secret)
                #expect(try SealedForm(weaker.bytes).scheme == .oaepSHA1)
                let tpm = try TPMToken()
                let stronger = try await tpm.provider.protected(secret, by: Person(TPMToken.pin))
                #expect(try SealedForm(stronger.bytes).scheme == .oaepSHA256)
                #expect(try await tpm.provider.opened(stronger, by: Person(TPMToken.pin)) == secret.bytes)
            }

            @Test func `when a key is made, then later calls use it`() async throws {
                let token = try SoftToken(keys: [])
                let proxy = try TokenProxy(to: token.server)
                defer { proxy.stop() }
                let error = try await proxy.provider.refusal(secret)
                #expect(error.code == .keyMissing)
                #expect(error.description.contains("has no key"))
                let maker = PKCS11Provider(proxy.uri, newKey: .rsa)
                let protected = try await maker.protected(secret)
                #expect(try await proxy.provider.opened(protected) == secret.bytes)
                // The next call uses it.
                let second = try await maker.protected(secret)
                #expect(try SealedForm(second.bytes).keyID == SealedForm(protected.bytes).keyID)
                #expect(proxy.count(.generateKeyPair) == 1)
                // The key does not leave the token, and nobody finds the key without the PIN.
                let id = try SealedForm(protected.bytes).keyID
                let values = try await token.loggedIn { session in
                    let kind = TokenAttribute(CKA_CLASS, CKO_PRIVATE_KEY)
                    let key = try #require(session.objects([kind, TokenAttribute(CKA_ID, id)]).first)
                    return try session.attributes(
                        [CKA_EXTRACTABLE, CKA_SENSITIVE, CKA_PRIVATE, CKA_PRIVATE_EXPONENT], of: key)
                }
                #expect(values == [CKA_EXTRACTABLE: [0], CKA_SENSITIVE: [1], CKA_PRIVATE: [1]])
            }

            @Test func `when a key needs no PIN, then it is refused`() async throws {
                let token = try SoftToken(keys: [])
                _ = try await token.loggedIn { session in
                    let both = [TokenAttribute(CKA_TOKEN, true), TokenAttribute(CKA_ID, [7])]
                    let size = TokenAttribute(CKA_MODULUS_BITS, CK_ULONG(2048))
                    _ = try session.generate(
                        [7], CKM_RSA_PKCS_KEY_PAIR_GEN, both + [size],
                        both + [TokenAttribute(CKA_PRIVATE, false), TokenAttribute(CKA_DECRYPT, true)])
                }
                #expect(try await token.provider.refusal(secret).code == .keyMissing)
            }

            @Test func `when a token lacks the key kind, then making fails`() async throws {
                let token = try TPMToken(hasKey: false)
                let maker = PKCS11Provider(token.server.uri, newKey: .elliptic)
                let error = try await maker.refusal(secret, by: Person(TPMToken.pin))
                #expect(error.code == .unavailable)
                #expect(error.description.contains("other kind"))
                // A second TPM, because the module leaves remains of the failed key in the first TPM.
                let second = try TPMToken(hasKey: false)
                let other = PKCS11Provider(second.server.uri, newKey: .rsa)
                let protected = try await other.protected(secret, by: Person(TPMToken.pin))
                #expect(try await second.provider.opened(protected, by: Person(TPMToken.pin)) == secret.bytes)
            }

            @Test func `when a new key is useless, then it is destroyed`() async throws {
                let token = try SoftToken(keys: [])
                let proxy = try TokenProxy(to: token.server) { _, message, forward in
                    message.call == .decrypt ? message.failing(CKR_FUNCTION_FAILED) : try forward(message)
                }
                defer { proxy.stop() }
                let error = try await PKCS11Provider(proxy.uri, newKey: .rsa).refusal(secret)
                #expect(error.code == .unavailable)
                #expect(proxy.count(.generateKeyPair) == 1)
                #expect(proxy.count(.destroyObject) == 2)
                #expect(try await PKCS11Tokens.list(uri: token.server.uri).map(\.showsUsableKey) == [false])
            }

            @Test func `when calls run in parallel, then each PIN decides alone`() async throws {
                let token = try SoftToken()
                let protected = try await token.provider.protected(secret)
                try await withThrowingTaskGroup { group in
                    for number in 0..<12 {
                        group.addTask { [secret, provider = token.provider] in
                            if number.isMultiple(of: 3) {
                                let error = try await provider.failure(protected, by: Person("654321"))
                                #expect(error.code == .wrongPIN)
                            } else {
                                let opened = try await provider.opened(protected)
                                #expect(opened == secret.bytes)
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }
    }
#endif
