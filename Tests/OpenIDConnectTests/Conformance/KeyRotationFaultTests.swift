import HTTPTypes
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

    @Test("rotation just before signing, under a new kid and under the old one", arguments: ["k2", "k1"])
    func before(keyID: String) async throws {
        _ = try await app.signIn()
        let next = TestKey.es256(keyID: keyID)
        app.provider.sign(with: next, publishing: [next])
        #expect(try await app.signIn().idToken != nil)
        #expect(keyRequests() == 2)
    }

    @Test("rotation just after signing: the keys that are known already are enough")
    func afterWithKnownKeys() async throws {
        let old = TestKey.es256()
        app.provider.sign(with: old, publishing: [old])
        await app.client.warmUp()
        app.provider.sign(with: old, publishing: [.es256(keyID: "k2")])
        #expect(try await app.signIn().idToken != nil)
        #expect(keyRequests() == 1)
    }

    @Test("rotation just after signing: a key that is withdrawn before anybody saw it does not count")
    func afterWithoutKnownKeys() async {
        app.provider.sign(with: .es256(), publishing: [.es256(keyID: "k2")])
        await app.expectRefusal { _ in }
        #expect(keyRequests() == 1)
    }

    @Test("a withdrawn key no longer signs, when the keys have been asked for since")
    func withdrawn() async throws {
        let (old, next) = (TestKey.es256(keyID: "k1"), TestKey.es256(keyID: "k2"))
        app.provider.sign(with: old, publishing: [old])
        _ = try await app.signIn()
        app.provider.sign(with: next, publishing: [next])
        _ = try await app.signIn()
        app.provider.sign(with: old, publishing: nil)
        await app.expectRefusal { _ in }
    }

    @Test("a flood of unknown kids is no flood of requests, and known keys go on working")
    func flood() async throws {
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
        app.provider.clock.advance(60)
        await refuse(31...60)
        #expect(keyRequests() == 3)
        app.provider.alter { $0.idToken = nil }
        var kept: [String?] = []
        #expect(try await app.refresh(refreshToken, kept: &kept).idToken != nil)
        #expect(keyRequests() == 3)
    }

    @Test("50 sign-ins at once fetch the document and the keys once")
    func singleFlight() async throws {
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

    @Test("50 tokens at once that are signed with a new key fetch the keys once more")
    func singleFlightAfterRotation() async throws {
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
