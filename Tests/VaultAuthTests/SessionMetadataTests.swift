import CredentialVault
import Testing
import VaultTesting

/// The texts that an app stores with an account, to read them while it is closed.
@Suite struct SessionMetadataTests {
    private static let password = "tea at half past four"
    private let test = TestVault()

    private func session() async throws -> Session {
        let alice = try await test.addAccount("alice", password: Self.password)
        return try await test.auth.login(alice, with: .password(SecretBytes(utf8: Self.password)))
    }

    @Test func `when an account is locked, then its metadata shows`() async throws {
        let session = try await session()
        try await session.setUnsealedMetadata("Ward 4", for: "desk.ward")
        try await session.setUnsealedMetadata("blue", for: "desk.colour")
        try await session.setUnsealedMetadata(nil, for: "desk.colour")
        await test.auth.lock()
        #expect(try await test.storage.all().map(\.unsealedMetadata) == [["desk.ward": "Ward 4"]])
        let error = await #expect(throws: VaultError.self) {
            try await session.setUnsealedMetadata("Ward 5", for: "desk.ward")
        }
        #expect(error?.code == .notLoggedIn)
        #expect(try await test.storage.account(session.id).unsealedMetadata == ["desk.ward": "Ward 4"])
    }

    @Test func `when a person registers again, then the metadata stays`() async throws {
        let session = try await session()
        try await session.setUnsealedMetadata("Ward 4", for: "desk.ward")
        let token = try await test.auth.signIn(test.provider.signIn("alice"))
        try await test.storage.storeRefreshToken(token, withNewPassword: SecretBytes(utf8: "seven otters juggle"))
        #expect(try await test.storage.account(session.id).unsealedMetadata == ["desk.ward": "Ward 4"])
    }

    @Test func `when metadata is too large, then nothing is stored`() async throws {
        let session = try await session()
        let largest = String(repeating: "é", count: 2047)
        try await session.setUnsealedMetadata(largest, for: "ab")
        let error = await #expect(throws: VaultError.self) { try await session.setUnsealedMetadata("", for: "c") }
        #expect(error?.code == .itemTooLarge)
        #expect(try await test.storage.account(session.id).unsealedMetadata == ["ab": largest])
    }

    @Test(arguments: ["", "two\nlines", String(repeating: "k", count: 256)])
    func `when a key is unusable, then the metadata is refused`(key: String) async throws {
        let session = try await session()
        let error = await #expect(throws: VaultError.self) { try await session.setUnsealedMetadata("4", for: key) }
        #expect(error?.code == .configurationInvalid)
        #expect(try await test.storage.account(session.id).unsealedMetadata == [:])
    }
}
