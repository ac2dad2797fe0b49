import Foundation
import Testing
import VaultStorage

@testable import VaultAuth

/// The token that requests in one tick of the kernel's clock share.
@Suite struct TokenInTickTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    /// A session with a token of two minutes.
    private func state() -> SessionState {
        var state = SessionState(.loggedIn, .confirmed)
        state.use(token("first", lifetime: 120), isNew: true)
        return state
    }

    private func token(_ value: String, lifetime: TimeInterval) -> AccessToken {
        AccessToken(
            value: value, tokenType: "Bearer", expiresAt: now + lifetime, scope: nil, obtainedAt: now)
    }

    @Test func `when a request found the token good, then the next gets it`() {
        var state = state()
        #expect(state.token(foundIn: 7, validFor: .seconds(60)) == nil)
        #expect(state.token(validFor: .seconds(60), at: now, inTick: 7)?.value == "first")
        #expect(state.token(foundIn: 7, validFor: .seconds(60))?.value == "first")
        #expect(state.token(foundIn: 7, validFor: .seconds(10))?.value == "first")
        #expect(state.token(foundIn: 8, validFor: .seconds(60)) == nil)
    }

    @Test func `when a request needs a longer validity, then the token is looked at`() {
        var state = state()
        _ = state.token(validFor: .seconds(60), at: now, inTick: 7)
        #expect(state.token(foundIn: 7, validFor: .seconds(300)) == nil)
        #expect(state.token(validFor: .seconds(300), at: now, inTick: 7) == nil)
    }

    @Test func `when the token changes in a tick, then the new one is looked at`() {
        var state = state()
        _ = state.token(validFor: .seconds(60), at: now, inTick: 7)
        state.use(token("second", lifetime: 61), isNew: true)
        #expect(state.token(foundIn: 7, validFor: .seconds(60)) == nil)
    }

    @Test func `when the session ends in a tick, then it has no token`() {
        var state = state()
        _ = state.token(validFor: .seconds(60), at: now, inTick: 7)
        state.end()
        #expect(state.token(foundIn: 7, validFor: .seconds(60)) == nil)
    }

    @Test func `when there is no tick, then each request looks at the token`() {
        var state = state()
        #expect(state.token(validFor: .seconds(60), at: now, inTick: nil) != nil)
        #expect(state.token(validFor: .seconds(60), at: now + 90, inTick: nil) == nil)
    }
}
