import HTTPTypes
import TestSupport
import Testing
import VaultHTTP

@testable import OpenIDConnect

/// Keys that change at the worst moments, and many callers that ask for them.
@Suite("Faults: keys that change")
struct KeyRotationFaultTests {
    let app: NativeApp

    init() async throws {
        app = try await NativeApp()
    }

    private func keyRequests() -> Int { app.provider.requests(to: .keys).count }

    @Test(arguments: ["k2", "k1"])
    func `when keys rotate before signing, then the new key counts`(keyID: String) async throws {
        _ = try await app.signIn()
        let next = TestKey.es256(keyID: keyID)
        app.provider.sign(with: next, publishing: [next])
        #expect(try await app.signIn().idToken != nil)
        #expect(keyRequests() == 2)
    }

    @Test func `when keys rotate after signing, then known keys suffice`() async throws {
        let old = TestKey.es256()
        app.provider.sign(with: old, publishing: [old])
        await app.client.warmUp()
        app.provider.sign(with: old, publishing: [.es256(keyID: "k2")])
        #expect(try await app.signIn().idToken != nil)
        #expect(keyRequests() == 1)
    }

    @Test func `when an unseen key is withdrawn, then its token fails`() async {
        app.provider.sign(with: .es256(), publishing: [.es256(keyID: "k2")])
        await app.expectRefusal { _ in }
        #expect(keyRequests() == 1)
    }

    @Test func `when a withdrawn key signs, then the token is refused`() async throws {
        let (old, next) = (TestKey.es256(keyID: "k1"), TestKey.es256(keyID: "k2"))
        app.provider.sign(with: old, publishing: [old])
        _ = try await app.signIn()
        app.provider.sign(with: next, publishing: [next])
        _ = try await app.signIn()
        app.provider.sign(with: old, publishing: nil)
        await app.expectRefusal { _ in }
    }

    @Test func `when unknown kids flood in, then fetches are rate-limited`() async throws {
        var refreshToken = try await app.signIn().refreshToken
        func refuse(_ rounds: ClosedRange<Int>) async {
            for round in rounds {
                app.provider.alter { $0.idToken = { $0.header["kid"] = "unknown-\(round)" } }
                var kept: [String?] = []
                await app.expectFault(.tokenInvalid) { _ = try await app.refresh(refreshToken, kept: &kept) }
                refreshToken = kept.first ?? nil
            }
        }
        await refuse(1...30)
        // One request for the sign-in, and one for all unknown keys.
        #expect(keyRequests() == 2)
        // After a minute the provider is asked once more, not thirty times.
        app.provider.clock.advance(by: 60)
        await refuse(31...60)
        #expect(keyRequests() == 3)
        app.provider.alter { $0.idToken = nil }
        var kept: [String?] = []
        #expect(try await app.refresh(refreshToken, kept: &kept).idToken != nil)
        #expect(keyRequests() == 3)
    }

    @Test func `when 50 sign-ins start together, then keys are fetched once`() async throws {
        let crowd = Crowd(50)
        app.provider.alter { alterations in
            alterations.replies[.keys] = { answer in
                await crowd.wait()
                return .answer(answer)
            }
            alterations.replies[.token] = { answer in
                crowd.come()
                return .answer(answer)
            }
        }
        try await withThrowingTaskGroup { group in
            for _ in 0..<50 { group.addTask { _ = try await app.signIn() } }
            try await group.waitForAll()
        }
        #expect(keyRequests() == 1)
        #expect(app.provider.requests(to: .discovery).count == 1)
    }

    @Test func `when 50 sign-ins meet new keys, then one fetch suffices`() async throws {
        await app.client.warmUp()
        let next = TestKey.es256(keyID: "k2")
        app.provider.sign(with: next, publishing: [next])
        try await withThrowingTaskGroup { group in
            for _ in 0..<50 { group.addTask { _ = try await app.signIn() } }
            try await group.waitForAll()
        }
        #expect(keyRequests() == 2)
    }
}
