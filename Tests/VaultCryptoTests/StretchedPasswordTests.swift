import Testing

@testable import VaultCrypto

@Suite struct StretchedPasswordTests {
    private static let salt = [UInt8](0..<16)
    private static let deviceSecret = [UInt8](32..<64)
    private static let released = [UInt8](128..<160)

    private func stretch(
        _ password: String = "Grüße, 猫 12", salt: [UInt8] = salt, deviceSecret: [UInt8] = deviceSecret,
        parameters: Argon2Parameters = .insecureForTests
    ) async throws -> StretchedPassword {
        try await StretchedPassword(
            password: SecretBytes(utf8: password), salt: salt, deviceSecret: SecretBytes(copying: deviceSecret),
            parameters: parameters)
    }

    /// Computed with Python's hmac and hashlib over libargon2, without this package. If these values change, no stored
    /// account opens any more.
    @Test func `when a password is stretched, then the fixed values result`() async throws {
        let stretched = try await stretch()
        #expect(try stretched.authSecret().utf8String() == "cv1.p_TFSCblgaEkQYU199C6-fFoI5npuo5Ck2xui9g_wPs")
        let slotKey = try stretched.slotKey(releasedKey: SecretBytes(copying: Self.released), slotID: "slot-1")
        #expect(
            slotKey.reveal() == hex("4676f180279dffd2092492111afebedf1f61495102aab142f23d5b9203cb5e8b"))
        let other = try await stretch(
            "correct horse", parameters: Argon2Parameters(passes: 2, memoryKiB: 256, lanes: 2))
        #expect(try other.authSecret().utf8String() == "cv1.S4pK6FiD2L3UXnJrTZiDDXhgG5hxnPCblfPls0v5X2o")
    }

    @Test func `when an auth secret is made, then 256 bits result`() async throws {
        let secret = try #require(try await stretch().authSecret().utf8String())
        #expect(secret.wholeMatch(of: /cv1\.[A-Za-z0-9_-]{43}/) != nil)
        let encoded = try SecretBytes(utf8: String(secret.dropFirst(4)))
        #expect(try SecretBase64.decode(encoded, .urlSafe).count == 32)
    }

    @Test func `when any input changes, then the derived keys differ`() async throws {
        var otherSalt = Self.salt
        otherSalt[15] ^= 1
        var otherDevice = Self.deviceSecret
        otherDevice[0] ^= 0x80
        var secrets: [String?] = []
        secrets.append(try await stretch().authSecret().utf8String())
        secrets.append(try await stretch("grüße, 猫 12").authSecret().utf8String())
        secrets.append(try await stretch(salt: otherSalt).authSecret().utf8String())
        secrets.append(try await stretch(deviceSecret: otherDevice).authSecret().utf8String())
        let parameters = Argon2Parameters(passes: 2, memoryKiB: 64, lanes: 1)
        secrets.append(try await stretch(parameters: parameters).authSecret().utf8String())
        #expect(Set(secrets).count == 5)

        let stretched = try await stretch()
        var otherKey = Self.released
        otherKey[31] ^= 1
        var keys: [[UInt8]] = []
        keys.append(try stretched.slotKey(releasedKey: SecretBytes(copying: Self.released), slotID: "1").reveal())
        keys.append(try stretched.slotKey(releasedKey: SecretBytes(copying: Self.released), slotID: "2").reveal())
        keys.append(try stretched.slotKey(releasedKey: SecretBytes(copying: otherKey), slotID: "1").reveal())
        let other = try await stretch("another password")
        keys.append(try other.slotKey(releasedKey: SecretBytes(copying: Self.released), slotID: "1").reveal())
        #expect(Set(keys).count == 4)
        #expect(keys.allSatisfy { $0.count == 32 })
    }

    @Test func `when a password is unusable, then stretching says so`() async throws {
        #expect(await code { _ = try await stretch("tab\tin it") } == .invalidPassword)
        #expect(await code { _ = try await stretch("") } == .invalidPassword)
    }
}
