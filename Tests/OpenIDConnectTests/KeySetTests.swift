import Foundation
import HTTPTypes
import TestSupport
import Testing
import VaultBase
import VaultHTTP

@testable import OpenIDConnect

@Suite("Key set")
struct KeySetTests {
    static let url = "https://id.example/keys"

    let provider = TestProvider()

    @Test func `when 20 tokens need new keys, then one fetch suffices`() async throws {
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

    @Test func `when newer keys are already known, then fetching is skipped`() async throws {
        let fetches = Counter()
        let key = try #require(SignatureKey(.object(provider.key.jwk.mapValues(JSONValue.string))))
        let source = KeySource(clock: provider.clock) {
            (fetches.increment() == 1 ? [] : [key], 3600)
        }
        let old = try await source.keys()
        #expect(old.keys.isEmpty)
        for _ in 0..<2 { #expect(try await source.keys(newerThan: old.generation)?.count == 1) }
        #expect(fetches.value == 2)
    }

    @Test func `when foreign tokens flood in, then fetches are rate-limited`() async throws {
        let transport = provider.transport()
        let client = provider.client(transport)
        await client.warmUp()
        let foreign = TestKey.es256(keyID: "k9")
        try provider.answer(idToken: foreign.token(provider.claims()))
        for _ in 0..<50 {
            #expect(await errorCode { _ = try await client.refresh("R", subject: "alice") } == .tokenInvalid)
        }
        #expect(transport.count(of: Self.url) == 2)
        provider.clock.advance(by: 60)
        #expect(await errorCode { _ = try await client.refresh("R", subject: "alice") } == .tokenInvalid)
        #expect(transport.count(of: Self.url) == 3)
    }

    @Test func `when newer keys are unreachable, then the error is unavailable`() async throws {
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

    @Test func `when a withdrawn key's lifetime ends, then its tokens fail`() async throws {
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
        provider.clock.advance(by: 599)
        #expect(try await refresh() == nil)
        provider.clock.advance(by: 1)
        #expect(try await refresh() == .tokenInvalid)
    }
}
