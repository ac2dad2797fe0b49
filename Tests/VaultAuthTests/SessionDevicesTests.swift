import CredentialVault
import Foundation
import Testing
import VaultBase
import VaultTesting

/// The devices of an open account, as an app uses them.
@Suite struct SessionDevicesTests {
    private static let password = "tea at half past four"

    private func opened(
        listsDevices: Bool = false
    ) async throws -> (TestVault, InMemoryOPRFKeyService, Session) {
        let test = TestVault(hasProtocol2: true, listsDevices: listsDevices)
        try await test.addAccount("alice", password: Self.password)
        let session = try await Self.login(test)
        return (test, try #require(test.oprfKeyService), session)
    }

    @discardableResult
    private static func login(_ test: TestVault) async throws -> Session {
        let session = try await test.auth.login(userID: "alice", with: .password(SecretBytes(utf8: password)))
        await test.accounts.finishConfirming()
        return session
    }

    private static func claims(_ service: InMemoryOPRFKeyService) -> Int {
        service.calls.count { if case .claim = $0 { true } else { false } }
    }

    @Test func `when devices are listed, then all unlock methods are shown`() async throws {
        let (_, service, session) = try await opened()
        try await session.setPIN(SecretBytes(utf8: "8264"))
        #expect(Self.claims(service) == 0)
        let devices = try await session.devices.list()
        let device = try #require(devices.first)
        #expect(devices.count == 1 && device.isThisDevice && device.name?.isEmpty == false)
        #expect(Set(device.keys.map(\.kind)) == [.password, .pin] && !device.isLocked)
        #expect(device.id.count == 32 && Self.claims(service) == 2)
        _ = try await session.devices.list()
        #expect(Self.claims(service) == 2)
    }

    // Row: the method `offline`, hardware with `--opens-offline`
    @Test func `when a revoked device is online, then offline hardware fails`() async throws {
        let (test, service, session) = try await opened()
        let (token, pin) = (try ScriptedHardwareKey(pin: "123456"), ScriptedPrompt("123456"))
        try await test.storage.enableBiometricAccess(
            userID: "alice", password: SecretBytes(utf8: Self.password), using: token, prompt: pin, opensOffline: true)
        try await test.auth.logout()
        let login = { _ = try await test.auth.login(userID: "alice", with: .hardware(token, pin)) }
        try await login()
        try await test.auth.logout()
        test.clock.advance(by: 60)
        let account = try await test.accounts.account(session.id)
        for slot in account.keyslots where slot.keyServiceProtocol == 2 { service.revoke(slot.keyID) }
        for _ in 1...2 { #expect(await failure(login)?.code == .deviceRevoked) }
        #expect(try await test.accounts.account(session.id).keyslots.map(\.kind) == [.password])
        #expect(test.auth.session == nil)
    }

    // Row: a session that is open
    @Test(arguments: ["pin", "recovery", "password", "renewal"])
    func `when the device is revoked, then an open session ends`(what: String) async throws {
        let (test, service, session) = try await opened()
        let keys = try await test.accounts.account(session.id).keyslots.map(\.keyID)
        if what == "renewal" {
            test.clock.advance(by: 3600)
            _ = try await session.accessToken(forceRefresh: true)
        }
        for key in keys { service.revoke(key) }
        let code = await failure {
            switch what {
            case "pin": try await session.setPIN(SecretBytes(utf8: "8264"))
            case "recovery": try await session.addRecoveryCode { _ in }
            case "password": try await session.setPassword(SecretBytes(utf8: "coffee at half past nine"))
            default: _ = try await session.accessToken(forceRefresh: true)
            }
        }?.code
        #expect(code == .deviceRevoked)
        #expect(!session.isOpen)
        #expect(await failure { _ = try await session.accessToken() }?.code == .deviceRevoked, "it says why it ended")
        #expect(try await test.accounts.account(session.id).keyslots.map(\.keyID) == keys, "nothing was deleted")
    }

    @Test func `when the key service is silent, then the session stays`() async throws {
        let (test, service, session) = try await opened()
        test.clock.advance(by: 120)
        service.isReachable = false
        _ = try await session.accessToken(forceRefresh: true)
        let code = await failure { try await session.setPIN(SecretBytes(utf8: "8264")) }?.code
        #expect(code == .keyServiceUnavailable)
        #expect(session.isOpen)
    }

    @Test func `when a device is renamed, then every label follows`() async throws {
        let (test, _, session) = try await opened()
        try await session.devices.rename(#require(session.devices.list().first), to: "the laptop")
        try await session.setPIN(SecretBytes(utf8: "8264"))
        let device = try #require(try await session.devices.list().first)
        #expect(device.name == "the laptop" && device.keys.count == 2)
        #expect(await failure { try await session.devices.rename(device, to: "") }?.code == .configurationInvalid)
        let long = String(repeating: "n", count: 600)
        #expect(await failure { try await session.devices.rename(device, to: long) }?.code == .configurationInvalid)
        #expect(try await Self.login(test).devices.list().first?.name == "the laptop")
    }

    @Test func `when a device is revoked, then no unlock method opens`() async throws {
        let (test, service, session) = try await opened()
        try await session.setPIN(SecretBytes(utf8: "8264"))
        let device = try #require(try await session.devices.list().first)
        try await session.devices.revoke(device)
        #expect(service.liveKeys.isEmpty)
        // Again, as after an error in the middle.
        try await session.devices.revoke(device)
        #expect(await failure { try await session.devices.rename(device, to: "x") }?.code == .deviceNotFound)
        #expect(try await session.devices.list() == [])
        #expect(await failure { try await Self.login(test) }?.code == .deviceRevoked)
        let pin = await failure { try await test.auth.login(userID: "alice", with: .pin(SecretBytes(utf8: "8264"))) }
        #expect(pin?.code == .deviceRevoked)
    }

    @Test func `when a device revokes itself, then each unlock method says so at once`() async throws {
        let (test, _, session) = try await opened()
        try await session.setPIN(SecretBytes(utf8: "8264"))
        try await session.addRecoveryCode { _ in }
        let device = try #require(try await session.devices.list().first)
        // A refusal counts only if it is newer than the last use.
        test.clock.advance(by: 1)
        try await session.devices.revoke(device)
        let states = try await test.storage.keyslotSummaries(of: session.id).map(\.state)
        #expect(states == [.revoked, .revoked, .revoked])
    }

    @Test func `when devices are listed, then the token is for one service`() async throws {
        let (test, service, session) = try await opened()
        let sent = Lock<[String]>([])
        service.accessTokenOwner = { [provider = test.provider] token in
            sent.withLock { $0.append(token) }
            return provider.owner(ofAccessToken: token)
        }
        let before = try await (session.refreshToken().value, session.accessToken().value)
        _ = try await session.devices.list()
        let tokens = sent.withLock { $0 }
        #expect(!tokens.isEmpty && tokens.allSatisfy { JWT($0)?.audience == ["https://keys.example"] })
        #expect(try await session.refreshToken().value != before.0, "the renewed refresh token is stored")
        #expect(try await session.accessToken().value == before.1 && !tokens.contains(before.1))
        try await Self.login(test)
    }

    @Test func `when a device's token is refused, then the login stays`() async throws {
        let (test, _, session) = try await opened()
        let before = try await session.accessToken().value
        test.provider.answer(with: .refusal)
        #expect(await failure { _ = try await session.devices.list() }?.code == .refreshTokenExpired)
        #expect(try await test.accounts.account(session.id).refusedAt == nil)
        #expect(try await test.store.item(.accessToken, of: session.id) != nil)
        #expect(try await session.accessToken().value == before && session.refusal == nil)
    }

    @Test(arguments: [false, true])
    func `when the audience is not restricted, then no token goes`(isRegistering: Bool) async throws {
        let test = TestVault(hasProtocol2: true, listsDevices: isRegistering)
        let service = try #require(test.oprfKeyService)
        service.endsUnclaimedKeys = isRegistering
        test.provider.restrictAudiences(false)
        service.accessTokenOwner = { token in
            Issue.record("a token was sent: \(token)")
            return nil
        }
        let error = await failure {
            try await test.addAccount("alice", password: Self.password)
            _ = try await Self.login(test).devices.list()
        }
        #expect(error?.code == .configurationInvalid && error?.detail == .audienceNotRestricted)
        #expect(error?.value == "https://keys.example")
        if !isRegistering { try await Self.login(test) }
    }

    @Test func `when device listing is off, then no claim is sent`() async throws {
        let (test, service, session) = try await opened()
        _ = try await session.accessToken(forceRefresh: true)
        try await Self.login(test)
        let isAboutDevices = service.calls.contains {
            switch $0 {
            case .claim, .listDevices, .renameDevice, .revokeDevice: true
            default: false
            }
        }
        #expect(!isAboutDevices)
    }

    @Test func `when device listing is on, then each key is claimed`() async throws {
        let test = TestVault(hasProtocol2: true, listsDevices: true)
        let service = try #require(test.oprfKeyService)
        try await test.addAccount("alice", password: Self.password)
        await test.accounts.finishConfirming()
        #expect(Self.claims(service) == 1)
        let session = try await Self.login(test)
        #expect(Self.claims(service) == 1)
        try await session.setPIN(SecretBytes(utf8: "8264"))
        _ = try await session.accessToken(forceRefresh: true)
        await test.accounts.finishConfirming()
        #expect(Self.claims(service) == 2)
    }

    @Test func `when a claim fails, then the next waits an hour`() async throws {
        let (test, service, _) = try await opened(listsDevices: true)
        let before = Self.claims(service)
        service.accessTokenOwner = { _ in nil }
        try await test.storage.setPIN(
            SecretBytes(utf8: "8264"), userID: "alice", password: SecretBytes(utf8: Self.password))
        await test.accounts.finishConfirming()
        #expect(Self.claims(service) == before + 1)
        for _ in 0..<3 { try await Self.login(test) }
        #expect(Self.claims(service) == before + 1)
        test.clock.advance(by: 3601)
        service.accessTokenOwner = { [provider = test.provider] in provider.owner(ofAccessToken: $0) }
        try await Self.login(test)
        #expect(Self.claims(service) == before + 2)
        #expect(try await Self.login(test).devices.list().first?.keys.count == 2)
        #expect(Self.claims(service) == before + 2)
    }

    @Test func `when the device record is lost, then login restores it`() async throws {
        let (test, service, session) = try await opened()
        try await test.store.withRecord(session.id.recordPrefix + "device") { $0 = nil }
        let again = try await Self.login(test)
        #expect(try await test.store.withRecord(session.id.recordPrefix + "device") { $0 != nil })
        #expect(try await again.devices.list().count == 1 && Self.claims(service) == 1)
    }

    @Test func `when the service forgets a key, then listing claims it`() async throws {
        let (test, service, session) = try await opened()
        let key = try #require(test.oprfKeyService?.liveKeys.first)
        // The record says that the service has answered. The service has an older database.
        try await test.store.withRecord(session.id.recordPrefix + "device") {
            $0 = Array("{\"claims\":{\"\(key)\":[]}}".utf8)
        }
        #expect(try await session.devices.list().map { $0.keys.map(\.id) } == [[key]])
        #expect(Self.claims(service) == 1)
    }

    @Test func `when the token is another person's, then no device shows`() async throws {
        let (test, service, session) = try await opened()
        let bob = AccountID(issuer: session.id.issuer, subject: "bob")
        let alice = session.id
        _ = try await session.devices.list()
        service.accessTokenOwner = { _ in bob }
        // The key is not on the list of bob. So it is claimed again, and the service refuses.
        #expect(try await session.devices.list() == [] && Self.claims(service) == 2)
        service.accessTokenOwner = { _ in alice }
        #expect(try await session.devices.list().count == 1)
        #expect(test.oprfKeyService?.liveKeys.count == 1)
    }

    @Test func `when listing devices fails, then the error says why`() async throws {
        let (_, service, session) = try await opened()
        service.accessTokenOwner = nil
        await #expect { try await session.devices.list() } throws: { error in
            (error as? VaultError)?.code == .configurationInvalid && "\(error)".contains("Its operator can")
                && (error as? VaultError)?.detail == .deviceListsOff
        }
        service.accessTokenOwner = { _ in nil }
        await #expect { try await session.devices.list() } throws: { error in
            (error as? VaultError)?.code == .configurationInvalid && "\(error)".contains("the audience of the token")
                && (error as? VaultError)?.detail == .tokenNotTrusted
        }
        service.isReachable = false
        #expect(await failure { _ = try await session.devices.list() }?.code == .keyServiceUnavailable)
        await session.lock()
        #expect(await failure { _ = try await session.devices.list() }?.code == .notLoggedIn)
    }

    @Test func `when only protocol 1 is available, then listing devices fails`() async throws {
        let test = TestVault()
        try await test.addAccount("alice", password: Self.password)
        let session = try await Self.login(test)
        #expect(await failure { _ = try await session.devices.list() }?.code == .configurationInvalid)
    }
}
