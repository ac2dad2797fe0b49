import Testing

@testable import VaultCrypto

@Suite struct Argon2Tests {
    /// RFC 9106 section 5.3.
    @Test func `when Argon2id gets RFC 9106 inputs, then its tag matches`() throws {
        let tag = try Argon2id.deriveUnchecked(
            password: SecretBytes(copying: [UInt8](repeating: 0x01, count: 32)),
            salt: [UInt8](repeating: 0x02, count: 16),
            secret: SecretBytes(copying: [UInt8](repeating: 0x03, count: 8)),
            associatedData: [UInt8](repeating: 0x04, count: 12),
            parameters: Argon2Parameters(passes: 3, memoryKiB: 32, lanes: 4), count: 32)
        #expect(
            tag.reveal()
                == hex("0d640df58d78766c08c037a34a8b53c9 d01ef0452d75b65eb52520e96b01e659"))
        #expect(Libraries.selfTest())
    }

    @Test func `when Argon2id runs asynchronously, then the same bytes result`() async throws {
        let password = try SecretBytes(utf8: "correct horse")
        let secret = try SecretBytes(copying: [7, 7, 7])
        let salt = [UInt8](0..<16)
        let parameters = Argon2Parameters(passes: 2, memoryKiB: 128, lanes: 2)
        let blocking = try Argon2id.deriveBlocking(
            password: password, salt: salt, secret: secret, parameters: parameters, count: 48)
        let other = try await Argon2id.derive(
            password: password, salt: salt, secret: secret, parameters: parameters, count: 48)
        #expect(blocking.count == 48)
        #expect(blocking.reveal() == other.reveal())
    }

    /// The parameters come from the disk. An attacker's numbers must neither stop the machine nor make guessing cheap.
    @Test(arguments: [
        Argon2Parameters(passes: 0, memoryKiB: 65536, lanes: 4),
        Argon2Parameters(passes: 17, memoryKiB: 65536, lanes: 4),
        Argon2Parameters(passes: .max, memoryKiB: 65536, lanes: 4),
        Argon2Parameters(passes: 3, memoryKiB: 65536, lanes: 0),
        Argon2Parameters(passes: 3, memoryKiB: 65536, lanes: 17),
        Argon2Parameters(passes: 3, memoryKiB: 65536, lanes: .max),
        Argon2Parameters(passes: 3, memoryKiB: 2 * 1024 * 1024 + 1, lanes: 4),
        Argon2Parameters(passes: 3, memoryKiB: .max, lanes: 4),
        Argon2Parameters(passes: 3, memoryKiB: 0, lanes: 1),
        Argon2Parameters(passes: 3, memoryKiB: 63, lanes: 1),
        Argon2Parameters(passes: 3, memoryKiB: 127, lanes: 16),
    ])
    func `when Argon2 parameters leave bounds, then Argon2 never runs`(parameters: Argon2Parameters) async throws {
        // Argon2 refuses this salt. If the error says so, Argon2 ran.
        let error = await #expect(throws: VaultCryptoError.self) {
            _ = try await Argon2id.derive(
                password: SecretBytes(utf8: "p"), salt: [], secret: SecretBytes(copying: []), parameters: parameters)
        }
        #expect(error?.code == .invalidInput)
        #expect(error?.description.contains("out of bounds") == true)
    }

    @Test func `when parameters are at the bounds, then validation passes`() throws {
        try Argon2Parameters(passes: 16, memoryKiB: 2 * 1024 * 1024, lanes: 16).validate()
        try Argon2Parameters(passes: 1, memoryKiB: 128, lanes: 16).validate()
        for parameters in [Argon2Parameters.standard, .server, .insecureForTests] { try parameters.validate() }
    }

    @Test func `when a salt is too short, then derivation throws`() async throws {
        let parameters = Argon2Parameters.insecureForTests
        for salt in [[], [UInt8](repeating: 0, count: 7)] {
            let result = await code {
                _ = try Argon2id.deriveBlocking(
                    password: SecretBytes(utf8: "p"), salt: salt, secret: SecretBytes(copying: []),
                    parameters: parameters)
            }
            #expect(result == .invalidInput)
        }
    }
}
