#if TPM2
    import TestSupport
    import Testing
    import VaultBiometric
    import VaultCrypto

    @testable import VaultTPM2

    @Suite("The bus to the TPM gives nothing away")
    struct BusTests {
        let tpm: SoftwareTPM
        let secret = TestSecret()

        init() throws { tpm = try SoftwareTPM() }

        @Test(arguments: [[], [7, 11]])
        func `when the bus is overheard, then no secret is visible`(_ pcrs: [Int]) async throws {
            let proxy = try BusProxy(to: tpm)
            defer { proxy.stop() }
            let provider = TPM2Provider(proxy.tcti, pcrs: pcrs)
            let pin = "correct-4711-horse"
            let protected = try await provider.protected(secret, pin: pin)
            #expect(try await provider.opened(protected, pin: pin) == secret.bytes)
            #expect(try await provider.failure(protected, pin: "incorrect-4711").code == .wrongPIN)
            let heard = proxy.bytes
            // These did pass the bus: TPM2_Create, TPM2_Unseal, and the name of the key.
            #expect(proxy.codes.contains(0x153))
            #expect(proxy.codes.contains(0x15E))
            #expect(contains(heard, try SealedForm(protected.bytes).keyName))
            // A session's key is as secret as the salt of its start. The salt is encrypted here with the key at that
            // handle, a persistent or a transient one. The message has about 32 + 2 × 34 bytes, for AES-128 in CFB.
            let sessions = proxy.sent.filter { $0[6..<10].elementsEqual([0, 0, 0x01, 0x76]) }
            #expect(sessions.count == 3)
            for session in sessions {
                #expect([0x80, 0x81].contains(session[10]))
                #expect(session[18..<20].elementsEqual([0, 32]))
                #expect(session[52] == 0 && session[53] > 64)
                #expect(session.suffix(8).elementsEqual([0, 6, 0, 128, 0, 0x43, 0, 0x0B]))
            }
            let auth = try AuthValue.of(pin: SecretBytes(utf8: pin)).withUnsafeBytes { Array($0) }
            for (what, hidden) in [("secret", secret.bytes), ("PIN", Array(pin.utf8)), ("value", auth)] {
                for start in stride(from: 0, through: hidden.count - 8, by: 1) {
                    #expect(!contains(heard, Array(hidden[start..<start + 8])), "a part of the \(what) at \(start)")
                }
            }
        }

        @Test(arguments: [[], [7]])
        func `when answers are changed, then no other secret opens`(_ pcrs: [Int]) async throws {
            let protected = try await TPM2Provider(tpm.tcti, pcrs: pcrs).protected(secret, pin: "4711")
            let quiet = try BusProxy(to: tpm)
            _ = try await TPM2Provider(quiet.tcti).opened(protected, pin: "4711")
            quiet.stop()
            for number in quiet.codes.indices {
                for place in [0.0, 0.3, 0.6, 0.99] {
                    let proxy = try BusProxy(to: tpm) { current, command, forward in
                        var answer = try forward(command)
                        // The first ten bytes are the header. An answer of another size never ends.
                        if current == number, answer.count > 10 {
                            answer[10 + Int(Double(answer.count - 10) * place)] ^= 0x41
                        }
                        return answer
                    }
                    defer { proxy.stop() }
                    do {
                        let opened = try await TPM2Provider(proxy.tcti).opened(protected, pin: "4711")
                        #expect(opened == secret.bytes, "answer \(number), place \(place)")
                    } catch is BiometricError {}
                    // If an answer was not understood, the TPM keeps the object until the next reset.
                    if quiet.codes[number] == 0x15E { #expect(try tpm.used() == 0, "place \(place)") }
                    try tpm.reset()
                    try tpm.tool("tpm2_dictionarylockout", "--clear-lockout")
                }
            }
        }

        @Test func `when a false key claims the name, then opening fails`() async throws {
            try tpm.provision("-g", "sha256", "-G", "ecc256:aes128cfb")
            let protected = try await TPM2Provider(tpm.tcti).protected(secret, pin: "4711")
            let name = try SealedForm(protected.bytes).keyName
            let foreign = try SoftwareTPM()
            try foreign.provision("-g", "sha256", "-G", "ecc256:aes128cfb")
            let proxy = try BusProxy(to: tpm) { [port = foreign.port] _, command, forward in
                guard command[6..<10].elementsEqual([0, 0, 0x01, 0x73]) else { return try forward(command) }
                let socket = try Socket.connected(to: .port(port))
                try socket.write(command)
                var answer = try socket.readMessage()
                let start = 10 + 2 + (Int(answer[10]) << 8 | Int(answer[11])) + 2
                answer.replaceSubrange(start..<start + name.count, with: name)
                return answer
            }
            defer { proxy.stop() }
            let person = Person("4711")
            let error = try await TPM2Provider(proxy.tcti).failure(protected, by: person)
            #expect(error.code == .hardwareReplaced)
            #expect(person.requests.isEmpty)
        }

        private func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
            bytes.indices.dropLast(part.count - 1).contains { bytes[$0] == part[0] && bytes[$0...].starts(with: part) }
        }
    }
#endif
