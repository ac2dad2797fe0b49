import CredentialVault
import Foundation
import TestSupport
import Testing
import VaultBase
import VaultTesting

@testable import VaultAuth
@testable import VaultStorage
@testable import VaultUnlock

/// The current login, and the data that a session may hand out.
@Suite struct CurrentLoginTests {
    private let session: Session
    private let other: Session

    init() async throws {
        let test = TestVault()
        func opened(_ name: String) async throws -> Session {
            let token = try await test.auth.signIn(test.provider.signIn(name))
            return try await test.storage.storeRefreshToken(
                token, withNewPassword: SecretBytes(utf8: "tea at half past four"))
        }
        session = try await opened("alice")
        other = try await test.auth.opener.adopt(
            session.id, vaultKey: session.openVaultKey(), contact: .confirmed
        ).session
    }

    @Test func `when locking interrupts an opening, then the account stays closed`() async throws {
        let current = CurrentLogin(updates: SessionUpdates(), willBegin: {}, didEnd: {})
        let opening = current.beginOpening()
        #expect(current.hasSomethingToLock)
        await current.lock(.requested)
        await #expect(throws: VaultError.self) { try await current.open(session, since: opening) }
        current.end(opening)
        #expect(current.session == nil && !current.hasSomethingToLock)
        try await current.open(session, since: current.beginOpening())
        #expect(current.session === session)
    }

    @Test func `when a session opens, then the idle timeout restarts first`() async throws {
        let seen = Lock<[Bool]>([])
        let box = Lock<CurrentLogin?>(nil)
        let current = CurrentLogin(
            updates: SessionUpdates(),
            willBegin: { seen.withLock { $0.append(box.withLock { $0 }?.isLoggedIn ?? true) } }, didEnd: {})
        box.withLock { $0 = current }
        try await current.open(session)
        #expect(seen.withLock { $0 } == [false] && current.isLoggedIn)
        box.withLock { $0 = nil }
    }

    @Test func `when a replaced session ends, then the new one stays`() async throws {
        let ends = Counter()
        let current = CurrentLogin(updates: SessionUpdates(), willBegin: {}, didEnd: { ends.increment() })
        try await current.open(session)
        try await current.open(other)
        #expect(ends.value == 1)
        await current.end(session, .deleted)
        #expect(current.session === other && ends.value == 1)
        await current.end(other, .deleted)
        #expect(current.session == nil && ends.value == 2)
    }
}

/// The visible data of a session, and its source.
@Suite struct SessionStateTests {
    private let error = VaultError(.refreshTokenExpired, "over")
    private let token = AccessToken(
        value: "a", tokenType: "Bearer", expiresAt: nil, scope: nil, obtainedAt: .distantPast)

    @Test func `when pending sessions are confirmed, then they count as logins`() {
        var state = SessionState(.pending, .none)
        #expect(state.isOpen && !state.isLogin && !state.isConfirmed)
        state.use(token, isNew: true)
        state.begin()
        #expect(state.isLogin && state.isConfirmed && state.token != nil)
    }

    @Test func `when a session is refused, then it gives no token`() {
        var state = SessionState(.loggedIn, .confirmed)
        state.use(token, isNew: false)
        state.refuse(error)
        #expect(state.isOpen && !state.isLogin && state.token == nil && state.refusal?.code == error.code)
        state.begin()
        #expect(!state.isLogin)
        let wasRefused = state.accept(token)
        #expect(wasRefused && state.isLogin && state.refusal == nil && state.token != nil)
        let isRefusedStill = state.accept(token)
        #expect(!isRefusedStill)
    }

    @Test func `when a session goes offline, then it stays confirmed`() {
        var state = SessionState(.loggedIn, .confirmed)
        state.goOffline()
        #expect(state.isOffline && state.isConfirmed)
        state.use(token, isNew: false)
        #expect(state.isOffline)
        state.use(token, isNew: true)
        #expect(!state.isOffline && state.isConfirmed)
    }

    @Test func `when a session ends, then only the refusal remains`() {
        var state = SessionState(.loggedIn, .offline(wasConfirmed: true))
        state.use(token, isNew: false)
        state.refuse(error)
        state.end()
        #expect(!state.isOpen && !state.isLogin && !state.isConfirmed && !state.isOffline && state.token == nil)
        #expect(state.refusal?.code == error.code)
        var locked = SessionState(.loggedIn, .confirmed)
        locked.end()
        #expect(locked.refusal == nil && !locked.isOpen)
    }
}
