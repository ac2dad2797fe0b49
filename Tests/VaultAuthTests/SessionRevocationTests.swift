import CredentialVault
import Foundation
import HTTPTypes
import KeyServiceClient
import TestSupport
import Testing
import VaultHTTP
import VaultTesting

@testable import VaultAuth
@testable import VaultStorage
@testable import VaultUnlock

/// The renewals of a session while the key service is silent, and after the owner revoked the device.
@Suite struct SessionRevocationTests {
    private static let password = "tea at half past four"
    private let test = TestVault(hasProtocol2: true)
    private let service: InMemoryOPRFKeyService

    init() throws { service = try #require(test.oprfKeyService) }

    private func opened() async throws -> Session {
        try await test.addAccount("alice", password: Self.password)
        let session = try await test.auth.login(userID: "alice", with: .password(SecretBytes(utf8: Self.password)))
        await test.accounts.finishConfirming()
        return session
    }

    private func failure(_ session: Session) async -> VaultError? {
        await thrown(VaultError.self) { _ = try await session.accessToken(forceRefresh: true) }
    }

    // Row: a session that is open
    @Test func `when the service stays silent 12 hours, then sessions lock`() async throws {
        let session = try await opened()
        var updates = test.auth.sessionUpdates(replaying: false).makeAsyncIterator()
        service.isReachable = false
        for _ in 1...11 {
            test.clock.advance(by: 3600)
            #expect(await failure(session) == nil)
        }
        test.clock.advance(by: 3600)
        let error = await failure(session)
        #expect(error?.code == .notLoggedIn && error?.description.contains("12 hours") == true)
        #expect(!session.isOpen)
        var last = await updates.next()
        while let update = last, update.event != .locked { last = await updates.next() }
        #expect(last?.reason == .revocationUnknown && last?.error?.code == .notLoggedIn)
        #expect(await failure(session)?.description.contains("12 hours") == true, "it says why later, too")
    }

    /// A thief of an open machine can end its keys with the signatures on the disk. Then nobody can revoke them.
    @Test func `when all keys end, then adding an unlock method fails`() async throws {
        let session = try await opened()
        let account = try await test.accounts.account(session.id)
        for slot in account.keyslots { try await service.endKey(id: slot.keyID, signature: slot.endSignature) }
        test.clock.advance(by: 301)
        #expect(await failure(session) == nil)
        let error = await #expect(throws: VaultError.self) { try await test.accounts.requireMayAddKeyslot(to: account) }
        #expect(error?.code == .keyMissing && session.isOpen)
        test.clock.advance(by: 11 * 3600)
        #expect(await failure(session) == nil)
        test.clock.advance(by: 3600)
        #expect(await failure(session)?.code == .notLoggedIn)
        #expect(!session.isOpen)
    }

    @Test func `when both servers are silent for days, then sessions stay`() async throws {
        let session = try await opened()
        service.isReachable = false
        test.provider.answer(with: .outage)
        test.clock.advance(by: 3 * 86_400)
        #expect(await failure(session)?.code == .identityProviderUnavailable)
        #expect(session.isOpen)
    }

    /// Hardware that needs no key service asks nobody. The agent goes on with the session, and has to ask.
    @Test func `when a session asked nobody, then its successor asks`() async throws {
        let id = try await opened().id
        let (token, pin) = (try ScriptedHardwareKey(pin: "123456"), ScriptedPrompt("123456"))
        try await test.storage.enableBiometricAccess(
            userID: "alice", password: SecretBytes(utf8: Self.password), using: token, prompt: pin, opensOffline: true)
        try await test.auth.logout()
        let session = try await test.auth.unlock(userID: "alice", with: .hardware(token, pin))
        let contact = session.contact
        #expect(contact == SessionContact(isOffline: false, isConfirmed: false, mayBeRevoked: true))
        for slot in try await test.accounts.account(id).keyslots where slot.keyServiceProtocol == 2 {
            service.revoke(slot.keyID)
        }
        let successor = try await test.auth.opener.adopt(id, vaultKey: session.openVaultKey(), contact: contact).session
        #expect(await failure(successor)?.code == .deviceRevoked)
    }

    @Test func `when a session was confirmed, then its successor is, too`() async throws {
        let session = try await opened()
        #expect(session.contact == .confirmed)
        test.provider.answer(with: .outage)
        #expect(await failure(session) != nil)
        let contact = session.contact
        #expect(contact == SessionContact(isOffline: true, isConfirmed: true, mayBeRevoked: true))
        let successor = try await test.auth.opener.adopt(
            session.id, vaultKey: session.openVaultKey(), contact: contact
        ).session
        #expect(successor.contact == contact)
    }

    @Test func `when the service answers, then 12 hours begin again`() async throws {
        let session = try await opened()
        let key = try #require(try await test.accounts.account(session.id).passwordKeyslot?.keyID)
        for _ in 1...4 {
            test.clock.advance(by: 13 * 3600)
            #expect(await failure(session) == nil)
        }
        #expect(service.evaluations(of: key) == 3, "the new key, the login, and one element for all proofs")
        test.clock.advance(by: 3600)
        _ = try await test.auth.login(userID: "alice", with: .password(SecretBytes(utf8: Self.password)))
        await test.accounts.finishConfirming()
        #expect(service.openGuesses(of: key) == 0)
    }

    @Test func `when a forger answers for 12 hours, then sessions lock`() async throws {
        let fixture = try await opened { ForgingService(base: $0, isOn: $1) }
        fixture.isOn.isOn = true
        for hours in 1...12 {
            test.clock.advance(by: 3600)
            #expect(await failure(fixture.session)?.code == (hours < 12 ? nil : .notLoggedIn))
        }
    }

    @Test func `when the policy says one hour, then sessions lock sooner`() async throws {
        let fixture = try await opened(policy: VaultPolicy(revocationCheckHours: 1)) { base, _ in base }
        service.isReachable = false
        test.clock.advance(by: 3500)
        #expect(await failure(fixture.session) == nil)
        test.clock.advance(by: 100)
        #expect(await failure(fixture.session)?.description.contains("For 1 hour ") == true)
    }

    @Test(.timeLimit(.minutes(1)))
    func `when the service swallows questions, then only one renewal waits`() async throws {
        let fixture = try await opened { HangingService(base: $0, isOn: $1) }
        fixture.isOn.isOn = true
        test.clock.advance(by: 120)
        let first = Task { await failure(fixture.session) }
        await fixture.timer.waitForSleeper()
        fixture.timer.advance(by: .seconds(5))
        #expect(await first.value == nil)
        // The clock of the wait stands still, so a renewal that waits never ends.
        for _ in 1...3 { #expect(await failure(fixture.session) == nil) }
        #expect(fixture.session.isOpen)
        fixture.timer.advance(by: .seconds(5))
    }

    @Test(.timeLimit(.minutes(1)))
    func `when a revocation is learned late, then the session ends`() async throws {
        let fixture = try await opened { HangingService(base: $0, isOn: $1) }
        fixture.isOn.isOn = true
        test.clock.advance(by: 120)
        let first = Task { await failure(fixture.session) }
        await fixture.timer.waitForSleeper()
        fixture.timer.advance(by: .seconds(5))
        #expect(await first.value == nil)
        fixture.isOn.isOn = false
        for key in try await test.accounts.account(fixture.session.id).keyslots.map(\.keyID) { service.revoke(key) }
        var updates = fixture.auth.sessionUpdates(replaying: false).makeAsyncIterator()
        // The question runs beside this renewal, and may end before or after it.
        _ = await failure(fixture.session)
        var last = await updates.next()
        while let update = last, update.event != .loggedOut { last = await updates.next() }
        #expect(last?.error?.code == .deviceRevoked)
        #expect(!fixture.session.isOpen)
        #expect(await failure(fixture.session)?.code == .deviceRevoked)
    }

    private struct Opened {
        let session: Session
        let auth: Auth
        let isOn: Toggle
        let timer: ManualContinuousClock
    }

    /// Opens an account over a service that a test switches.
    private func opened(
        policy: VaultPolicy = .standard,
        over wrapped: (InMemoryOPRFKeyService, Toggle) -> any OPRFKeyService
    ) async throws -> Opened {
        let id = try await test.addAccount("alice", password: Self.password)
        let (isOn, timer) = (Toggle(), ManualContinuousClock())
        let used = wrapped(service, isOn)
        var accounts = Accounts(
            store: test.store, clock: test.clock, argon2: .insecureForTests, offlineCost: .insecureForTests,
            policy: policy, keyServiceURL: "https://keys.example", timer: timer,
            services: KeyServices(released: { [test] _ in test.keyService }, oprf: { _ in used }))
        accounts.steady = test.accounts.steady
        let auth = Auth(
            settings: nil,
            opener: SessionOpener(
                accounts: accounts, issuers: [test.provider],
                transport: FakeTransport { request, _ in
                    throw HTTPError(.notConnected, authority: request.authority ?? "")
                }), listening: NoRedirects())
        let session = try await auth.login(id, with: .password(SecretBytes(utf8: Self.password)))
        await accounts.finishConfirming()
        return Opened(session: session, auth: auth, isOn: isOn, timer: timer)
    }
}

/// A switch that a test turns.
private final class Toggle: @unchecked Sendable {
    nonisolated(unsafe) var isOn = false
}

private protocol Wrapped: OPRFKeyService {
    var base: InMemoryOPRFKeyService { get }
}

extension Wrapped {
    func protocolVersions() async throws -> Set<Int> { try await base.protocolVersions() }
    func createKey(_ key: NewOPRFKey) async throws -> FirstEvaluation { try await base.createKey(key) }
    func endKey(id: String, signature: [UInt8]) async throws { try await base.endKey(id: id, signature: signature) }
}

/// A key service whose confirmations and evaluations never get an answer while the switch is on.
private struct HangingService: Wrapped {
    let base: InMemoryOPRFKeyService
    let isOn: Toggle

    private func hang() async throws {
        while isOn.isOn { try await Task.sleep(for: .seconds(3600)) }
    }

    func evaluate(
        _ id: String, _ blinded: RistrettoElement, requestKey: borrowing SecretBytes, at date: Date
    ) async throws -> Evaluation {
        try await hang()
        return try await base.evaluate(id, blinded, requestKey: requestKey, at: date)
    }

    func confirm(_ confirmation: KeyConfirmation) async throws {
        try await hang()
        try await base.confirm(confirmation)
    }
}

/// Somebody in the network who says yes to each confirmation, and cannot authenticate an evaluation.
private struct ForgingService: Wrapped {
    let base: InMemoryOPRFKeyService
    let isOn: Toggle

    func evaluate(
        _ id: String, _ blinded: RistrettoElement, requestKey: borrowing SecretBytes, at date: Date
    ) async throws -> Evaluation {
        if isOn.isOn { throw KeyServiceError(.invalidAnswer, "The answer does not come from the key service.") }
        return try await base.evaluate(id, blinded, requestKey: requestKey, at: date)
    }

    func confirm(_ confirmation: KeyConfirmation) async throws {
        if !isOn.isOn { try await base.confirm(confirmation) }
    }
}
