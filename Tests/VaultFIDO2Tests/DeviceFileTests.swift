#if FIDO2
    import Testing
    import VaultBiometric
    import VaultCrypto

    @testable import VaultFIDO2

    @Suite("libfido2 reads and writes a device file by itself")
    struct DeviceFileTests {
        let port = SoftwarePort(SoftwareKey(pin: "4711"))
        let file: DeviceFile
        let thread = HardwareThread(limit: .seconds(120), clock: ContinuousClock(), late: "")
        let salt = SoftwareKey.random(32)

        init() throws { file = try DeviceFile(port) }

        /// Has a conversation with the key.
        private func talk<Answer: Sendable>(
            _ body: @escaping @Sendable (KeyConnection) throws -> Answer
        ) async throws -> Answer {
            try await thread.converse { [file] interruption, fido2 in
                let device = FIDO2Device(path: file.path, name: "")
                return try body(KeyConnection(to: device, of: nil, within: .seconds(120), interruption, fido2))
            }
        }

        private func pin(_ text: String) throws -> KeyPIN { try KeyPIN(SecretBytes(utf8: text)) }

        @Test func `when the salt repeats, then the key's secret repeats`() async throws {
            let pin = try pin("4711")
            let credential = try await talk { key in
                #expect(try key.abilities().hasSecrets)
                #expect(try key.pinGuessesLeft() == 8)
                return try key.makeCredential(pin: pin)
            }
            let answers = try await talk { [salt] key in
                #expect(try key.knows(credential.id))
                #expect(try !key.knows(SoftwareKey.random(64)))
                return try (0..<2).map { _ in
                    let answer = try key.secret(
                        of: credential.id, salt: salt, pin: pin, provenBy: credential.publicKey)
                    return answer.withUnsafeBytes { Array($0) }
                }
            }
            #expect(answers[0] == answers[1])
            #expect(answers[0].count == 32)
            file.unplug()
        }

        @Test func `when the caller cancels, then the key stops blinking`() async throws {
            let pin = try pin("4711")
            port.key.set(.never)
            let task = Task { _ = try await talk { try $0.makeCredential(pin: pin) } }
            await port.reaches(.blinks)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            await port.reaches(.stoppedBlinking)
            file.unplug()
        }

        @Test func `when the device file is unplugged, then the call fails`() async throws {
            let pin = try pin("4711")
            port.key.set(.never)
            let task = Task { _ = try await talk { try $0.makeCredential(pin: pin) } }
            await port.reaches(.blinks)
            file.unplug()
            let failure = await #expect(throws: KeyFailure.self) { try await task.value }
            #expect(failure?.isAnswer == false)
        }
    }
#endif
