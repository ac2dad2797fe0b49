import CredentialVault
import Testing
import VaultTesting

/// New unlock methods of an account that has been open for a while.
@Suite struct SessionSecretTests {
    private static let password = "tea at half past four"
    private let test = TestVault(hasProtocol2: true)
    private let session: Session

    init() async throws {
        try await test.addAccount("alice", password: Self.password)
        session = try await test.auth.login(userID: "alice", with: .password(SecretBytes(utf8: Self.password)))
        await test.accounts.finishConfirming()
        test.clock.advance(by: 301)
    }

    enum NewMethod: CaseIterable, Sendable { case pin, password, recovery, hardware }

    private func add(_ way: NewMethod) async throws {
        switch way {
        case .pin: try await session.setPIN(SecretBytes(utf8: "8264"))
        case .password: try await session.setPassword(SecretBytes(utf8: "coffee at half past nine"))
        case .recovery: try await session.addRecoveryCode { _ in }
        case .hardware:
            try await session.addHardware(ScriptedHardwareKey(pin: "123456"), prompt: ScriptedPrompt("123456"))
        }
    }

    @Test(arguments: NewMethod.allCases)
    func `when five minutes pass, then new unlock methods need secrets`(way: NewMethod) async throws {
        let before = try await test.storage.keyslotSummaries(of: session.id)
        #expect(await failure { try await add(way) }?.code == .secretRequired)
        #expect(try await test.storage.keyslotSummaries(of: session.id) == before)
        #expect(session.isOpen)
        try await session.reauthenticate(with: .password(SecretBytes(utf8: Self.password)))
        #expect(await failure { try await add(way) } == nil)
        test.clock.advance(by: 301)
        #expect(await failure { try await add(.recovery) }?.code == .secretRequired)
    }

    @Test func `when a secret is wrong, then a guess is counted`() async throws {
        let service = try #require(test.oprfKeyService)
        let key = try #require(try await test.accounts.account(session.id).passwordKeyslot?.keyID)
        let wrong = await failure {
            try await session.reauthenticate(with: .password(SecretBytes(utf8: "milk at half past four")))
        }?.code
        #expect(wrong == .wrongSecret)
        #expect(service.openGuesses(of: key) == 1)
        #expect(await failure { try await add(.pin) }?.code == .secretRequired)
    }

    @Test func `when an offline keyslot is added, then its password suffices`() async throws {
        try await session.addOffline(password: SecretBytes(utf8: Self.password))
        #expect(try await test.storage.keyslotSummaries(of: session.id).map(\.kind).contains(.offline))
    }

    @Test func `when the device is revoked, then reauthenticating ends the session`() async throws {
        let keys = try await test.accounts.account(session.id).keyslots.map(\.keyID)
        for key in keys { test.oprfKeyService?.revoke(key) }
        let refused = await failure {
            try await session.reauthenticate(with: .password(SecretBytes(utf8: Self.password)))
        }?.code
        #expect(refused == .deviceRevoked)
        #expect(!session.isOpen)
    }
}
