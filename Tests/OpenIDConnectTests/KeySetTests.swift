import Foundation
import HTTPTypes
import Testing
import VaultBase
import VaultHTTP

@testable import OpenIDConnect

@Suite("Key set")
struct KeySetTests {
    static let url = "https://id.example/keys"

    let provider = TestProvider()

    @Test("keys that changed since are asked for once, however many tokens come at the same time")
    func rotation() async throws {
        let transport = provider.transport()
        let client = provider.client(transport)
        await client.warmUp()
        let newer = TestKey.es256(keyID: "k2")
        let crowd = Crowd(20)
        provider.set { state in
            state.keys = [newer.jwk]
            state.gate = { await crowd.wait() }
        }
        let token = try newer.token(provider.claims())
        try provider.answer(idToken: token)
        try await withThrowingTaskGroup { group in
            for _ in 0..<20 {
                group.addTask {
                    let tokens = try await client.refresh("R", subject: "alice") { _, _ in crowd.come() }
                    #expect(tokens.idToken?.subject == "alice")
                }
            }
            try await group.waitForAll()
        }
        #expect(transport.count(of: Self.url) == 2)
    }

    @Test("who looked at the old keys gets the newer ones that another has found meanwhile")
    func foundByAnother() async throws {
        let fetches = Counter()
        let key = try #require(SignatureKey(.object(provider.key.jwk.mapValues(JSONValue.string))))
        let source = KeySource(clock: provider.clock) {
            (fetches.next() == 1 ? [] : [key], 3600)
        }
        let old = try await source.keys()
        #expect(old.keys.isEmpty)
        for _ in 0..<2 { #expect(try await source.keys(newerThan: old.generation)?.count == 1) }
        #expect(fetches.value == 2)
    }

    @Test("tokens with unknown keys cannot make us ask more than once a minute")
    func flood() async throws {
        let transport = provider.transport()
        let client = provider.client(transport)
        await client.warmUp()
        let foreign = TestKey.es256(keyID: "k9")
        try provider.answer(idToken: foreign.token(provider.claims()))
        for _ in 0..<50 {
            #expect(await errorCode { _ = try await client.refresh("R", subject: "alice") } == .tokenInvalid)
        }
        #expect(transport.count(of: Self.url) == 2)
        provider.clock.advance(60)
        #expect(await errorCode { _ = try await client.refresh("R", subject: "alice") } == .tokenInvalid)
        #expect(transport.count(of: Self.url) == 3)
    }

    @Test("when the newer keys cannot be had, the token is not called invalid")
    func searchFails() async throws {
        let client = provider.client()
        await client.warmUp()
        provider.set { $0.routes[Self.url] = { _ in throw HTTPError(.notConnected, authority: "id.example") } }
        for _ in 0..<2 {
            let (request, callback) = try await provider.signIn(client)
            let token = try TestKey.es256(keyID: "k2").token(provider.claims(nonce: request.nonce))
            try provider.answer(idToken: token)
            let error = await caught { _ = try await client.redeem(request, callback: callback) }
            #expect(error?.code == .unavailable)
            #expect(error?.mayHaveBeenProcessed == true)
        }
    }

    @Test("a key that was withdrawn stops counting when the lifetime of the set is over")
    func withdrawn() async throws {
        let text = try json(["keys": [provider.key.jwk]])
        provider.set {
            $0.routes[Self.url] = { _ in
                var answer = HTTPAnswer.text(text)
                answer.headerFields[.cacheControl] = "max-age=600"
                return answer
            }
        }
        let client = provider.client()
        await client.warmUp()
        provider.set { $0.routes[Self.url] = { _ in .text(#"{"keys":[]}"#) } }
        func refresh() async throws -> OpenIDConnectError.Code? {
            try provider.answer(idToken: provider.key.token(provider.claims()))
            return await errorCode { _ = try await client.refresh("R", subject: "alice") }
        }
        provider.clock.advance(599)
        #expect(try await refresh() == nil)
        provider.clock.advance(1)
        #expect(try await refresh() == .tokenInvalid)
    }
}
