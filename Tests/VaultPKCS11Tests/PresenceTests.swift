#if PKCS11
    import CPKCS11
    import Foundation
    import TestSupport
    import Testing
    import VaultBiometric

    @testable import VaultPKCS11

    extension PKCS11Tests {
        @Suite("Without the token that was enrolled nothing opens")
        struct PresenceTests {
            let secret = TestSecret()

            @Test func `when the token is unplugged, then it is reported missing`() async throws {
                let token = try SoftToken()
                let protected = try await token.provider.protected(secret)
                token.server.unplug()
                let person = Person()
                let error = try await token.provider.failure(protected, by: person)
                #expect(error.code == .hardwareMissing)
                #expect(error.description.contains("\"vault\""))
                #expect(try await token.provider.refusal(secret, by: person).code == .hardwareMissing)
                #expect(await token.provider.availability(of: protected) == .missing)
                #expect(await token.provider.availability(of: nil) == .missing)
                #expect(person.requests.isEmpty)
                try token.server.plugIn()
                #expect(try await token.provider.opened(protected) == secret.bytes)
            }

            @Test func `when another token is present, then no PIN is requested`() async throws {
                let first = try SoftToken(label: "first")
                let second = try SoftToken(label: "second")
                let protected = try await first.provider.protected(secret)
                let person = Person()
                let error = try await second.provider.failure(protected, by: person)
                #expect(error.code == .hardwareReplaced)
                #expect(error.description.contains("\"first\""))
                #expect(error.description.contains("\"second\""))
                #expect(await second.provider.availability(of: protected) == .missing)
                #expect(person.requests.isEmpty)
                // If both are plugged in, each is found again.
                let all = PKCS11Provider("pkcs11:")
                #expect(try await all.opened(protected, by: person) == secret.bytes)
                #expect(person.requests.map(\.label) == ["first"])
                let other = try await second.provider.protected(secret)
                #expect(try await all.opened(other) == secret.bytes)
                // With two tokens, the caller must say which one to enrol.
                let ambiguous = try await all.refusal(secret)
                #expect(ambiguous.code == .failed)
                for label in ["token=first", "token=second"] { #expect(ambiguous.description.contains(label)) }
                let chosen = try await PKCS11Provider("pkcs11:token=second").protected(secret)
                #expect(chosen.label == "second")
            }

            @Test func `when the token changes mid-typing, then no PIN is sent`() async throws {
                let first = try SoftToken(label: "first")
                let second = try SoftToken(label: "second")
                let protected = try await first.provider.protected(secret)
                let proxy = try TokenProxy(to: second.server)
                defer { proxy.stop() }
                let module = first.server.folder.appending(path: "s").path
                let person = Person { _ in
                    first.server.unplug()
                    try FileManager.default.createSymbolicLink(
                        atPath: module, withDestinationPath: proxy.socket)
                    return SoftToken.pin
                }
                #expect(try await first.provider.failure(protected, by: person).code == .hardwareReplaced)
                // The same for something new.
                try FileManager.default.removeItem(atPath: module)
                try first.server.plugIn()
                #expect(try await first.provider.refusal(secret, by: person).code == .hardwareReplaced)
                #expect(proxy.count(.logIn) == 0)
            }

            @Test func `when serial numbers are equal, then keys tell tokens apart`() async throws {
                let token = try TPMToken()
                let protected = try await token.provider.protected(secret, by: Person(TPMToken.pin))
                token.server.unplug()
                try token.initialize("second", slot: 1)
                try token.server.plugIn()
                let tokens = try await PKCS11Tokens.list(uri: token.server.uri)
                #expect(Set(tokens.map(\.label)) == ["tpm", "second"])
                #expect(Set(tokens.map(\.serialNumber)).count == 1)
                let person = Person(TPMToken.pin)
                #expect(try await token.provider.opened(protected, by: person) == secret.bytes)
                #expect(person.requests.map(\.label) == ["tpm"])
                let second = PKCS11Provider("pkcs11:token=second?module-name=\(token.server.module)")
                #expect(try await second.failure(protected, by: person).code == .hardwareReplaced)
                #expect(person.requests.count == 1)
                let other = try await second.protected(secret, by: person)
                #expect(try await token.provider.opened(other, by: person) == secret.bytes)
                #expect(person.requests.map(\.label) == ["tpm", "second", "second"])
            }

            @Test func `when the label changes, then the serial number decides`() async throws {
                let token = try SoftToken()
                let protected = try await token.provider.protected(secret)
                let relabelled = try TokenProxy(to: token.server) { _, message, forward in
                    let answer = try forward(message)
                    return message.call == .getTokenInfo ? answer.renamed(label: "new \u{1B}[2J") : answer
                }
                defer { relabelled.stop() }
                let person = Person()
                #expect(try await relabelled.provider.opened(protected, by: person) == secret.bytes)
                // The label contains no control characters for a terminal.
                #expect(person.requests.map(\.label) == ["new [2J"])
                // The token changes while the PIN is typed, and the module does not notice.
                let isOther = ThreadFlag()
                let exchanged = try TokenProxy(to: token.server) { _, message, forward in
                    let answer = try forward(message)
                    guard message.call == .getTokenInfo, isOther.level > 0 else { return answer }
                    return answer.renamed(serial: "4711")
                }
                defer { exchanged.stop() }
                let slow = Person { _ in
                    isOther.raise(1)
                    return SoftToken.pin
                }
                #expect(try await exchanged.provider.failure(protected, by: slow).code == .hardwareReplaced)
                #expect(exchanged.count(.logIn) == 0)
            }

            @Test func `when a token loses its key, then opening fails`() async throws {
                let token = try SoftToken()
                let protected = try await token.provider.protected(secret)
                try token.removeKey(id: "01")
                token.server.unplug()
                try token.server.plugIn()
                // No visible object is left, so only a login with the PIN shows this.
                let person = Person()
                #expect(try await token.provider.failure(protected, by: person).code == .hardwareReplaced)
                #expect(person.requests.count == 1)
                try token.makeKey("rsa:2048", id: "01")
                token.server.unplug()
                try token.server.plugIn()
                let error = try await token.provider.failure(protected, by: person)
                #expect(error.code == .hardwareReplaced)
                #expect(error.description.contains("enrol the token again"))
                #expect(person.requests.count == 1)
                // The other key has no visible object, and has the id of the first key.
                try token.server.tool(
                    "--login", "--pin", SoftToken.pin, "--delete-object", "--type", "pubkey", "--id", "01")
                token.server.unplug()
                try token.server.plugIn()
                #expect(try await token.provider.failure(protected, by: person).code == .hardwareReplaced)
                #expect(person.requests.count == 2)
            }

            @Test func `when the token matches, then no other token is read`() async throws {
                let token = try SoftToken()
                let protected = try await token.provider.protected(secret)
                let proxy = try TokenProxy(to: token.server)
                defer { proxy.stop() }
                #expect(try await proxy.provider.opened(protected) == secret.bytes)
                // Once before the PIN and once after it. Behind each token, SoftHSM has an empty one.
                #expect(proxy.count(.getTokenInfo) == 2)
                // One request for the public key, and one to learn whether the private key wants the PIN each time.
                #expect(proxy.count(.getAttributeValue) == 2)
                #expect(proxy.count(.logIn) == 1)
            }

            @Test func `when the token goes midway, then the next call works`() async throws {
                let token = try SoftToken()
                let protected = try await token.provider.protected(secret)
                let quiet = try TokenProxy(to: token.server)
                _ = try await quiet.provider.opened(protected)
                quiet.stop()
                let count = quiet.messages.count
                // The last messages only tidy up. Decryption is the last message that matters.
                let last = try #require(quiet.messages.lastIndex { $0.call == .decrypt })
                for moment in 0..<count {
                    let proxy = try TokenProxy(to: token.server) { number, message, forward in
                        if number >= moment { throw Socket.Broken(call: "cut") }
                        return try forward(message)
                    }
                    defer { proxy.stop() }
                    do {
                        #expect(try await proxy.provider.opened(protected) == secret.bytes)
                        #expect(moment > last, "\(moment) of \(count)")
                    } catch let error as BiometricError {
                        let codes: [BiometricError.Code] =
                            moment < 2 ? [.unavailable, .hardwareMissing] : [.hardwareMissing]
                        #expect(codes.contains(error.code), "\(moment) of \(count): \(error)")
                    }
                }
                #expect(try await token.provider.opened(protected) == secret.bytes)
            }

            @Test func `when the server dies mid-typing, then the token is missing`() async throws {
                let token = try SoftToken()
                let protected = try await token.provider.protected(secret)
                let pulling = Person { _ in
                    token.server.unplug()
                    return SoftToken.pin
                }
                #expect(try await token.provider.failure(protected, by: pulling).code == .hardwareMissing)
                try token.server.plugIn()
                let quick = Person { _ in
                    token.server.unplug()
                    try token.server.plugIn()
                    return SoftToken.pin
                }
                #expect(try await token.provider.opened(protected, by: quick) == secret.bytes)
            }

            @Test(arguments: [
                CKR_DEVICE_REMOVED, CKR_TOKEN_NOT_PRESENT, CKR_SESSION_HANDLE_INVALID, CKR_SLOT_ID_INVALID,
                CKR_DEVICE_ERROR, CKR_GENERAL_ERROR,
            ])
            func `when a module reports removal, then the token is missing`(_ value: UInt) async throws {
                let token = try SoftToken()
                let protected = try await token.provider.protected(secret)
                for call in [RPCMessage.Call.logIn, .findObjects, .decryptInit, .decrypt] {
                    let isOut = ThreadFlag()
                    let proxy = try TokenProxy(to: token.server) { _, message, forward in
                        // Only after the login, because before it no operation has begun.
                        if message.call == .logIn { isOut.raise(1) }
                        if message.call == call && isOut.level > 0 { isOut.raise(2) }
                        return isOut.level == 2 ? message.failing(value) : try forward(message)
                    }
                    defer { proxy.stop() }
                    #expect(try await proxy.provider.failure(protected).code == .hardwareMissing, "\(call)")
                }
            }
        }
    }
#endif
