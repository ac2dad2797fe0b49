import Foundation
import Testing
import VaultDevelopment

@Suite struct FaultTests {
    @Test func `when a status fault is set, then requests stay unprocessed`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let token = try await client.login()["refresh_token"]
            await provider.setFault(.status(503), times: 2)
            #expect(try await client.refresh(token).status == 503)
            #expect(try await client.refresh(token).status == 503)
            #expect(try await client.refresh(token).status == 200)
            let log = await provider.requests.filter { $0.grantType == "refresh_token" }
            #expect(log.map(\.outcome) == [.fault, .fault, .ok])
            #expect(log.map(\.presentedGeneration) == [1, 1, 1])
        }
    }

    @Test func `when the fault is emptyBadRequest, then the body is empty`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let token = try await client.login()["refresh_token"]
            await provider.setFault(.emptyBadRequest)
            let answer = try await client.refresh(token)
            #expect(answer.status == 400)
            #expect(answer.body.isEmpty)
            await provider.setFault(nil)
            #expect(try await client.refresh(token).status == 200)
        }
    }

    @Test func `when an answer is swallowed, then the token has rotated`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let token = try await client.login()["refresh_token"]
            await provider.setFault(.swallowAnswerAfterProcessing, times: 1)
            await #expect(throws: (any Error).self) { try await client.refresh(token) }
            #expect(await provider.requests.last?.outcome == .answerSwallowed)
            #expect(await provider.requests.last?.issuedGeneration == 2)
            #expect(try await client.refresh(token)["error"] == "invalid_grant")
        }
    }

    @Test func `when a delayed request is released, then it goes on`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let token = try await client.login()["refresh_token"]
            for (fault, processed) in [(ProviderFault.delayAnswer, 2), (.delay, 1)] {
                await provider.clearRequests()
                await provider.setFault(fault, times: 2)
                async let first = client.refresh(token).status
                async let second = client.refresh("nonsense").status
                await provider.waitUntilDelayed(2)
                #expect(await provider.requests.count == (processed == 2 ? 2 : 0))
                await provider.releaseDelayed()
                _ = try await (first, second)
                #expect(await provider.requests.count == 2)
            }
        }
    }

    @Test func `when a member is omitted, then the answer lacks it`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let token = try await client.login()["refresh_token"]
            await provider.setFault(.omitRefreshToken, times: 1)
            let without = try await client.refresh(token)
            #expect(without.status == 200)
            #expect(without["refresh_token"] == nil)
            await provider.setFault(.scope(nil), times: 1)
            let unscoped = try await client.refresh(token)
            #expect(unscoped.status == 200)
            #expect(unscoped["scope"] == nil)
            await provider.setFault(.scope("openid"), times: 1)
            #expect(try await client.refresh(unscoped["refresh_token"])["scope"] == "openid")
        }
    }

    @Test func `when all refresh tokens are revoked, then each refresh fails`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let tokens = [try await client.login(), try await client.login(as: "bob")]
            try await provider.revokeAllRefreshTokens()
            for token in tokens {
                #expect(try await client.refresh(token["refresh_token"])["error"] == "invalid_grant")
            }
        }
    }

    @Test func `when the signing key rotates, then the new one signs`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let before = try #require(try await client.login()["id_token"])
            try await provider.rotateSigningKey()
            let after = try #require(try await client.login()["id_token"])
            let both = try await keyIDs(client)
            #expect(both.count == 2)
            #expect(try keyID(after) == both[0])
            #expect(try keyID(before) == both[1])
            try await provider.rotateSigningKey(keepingOld: false)
            let alone = try await keyIDs(client)
            #expect(alone.count == 1 && !both.contains(alone[0]))
        }
    }

    private func keyIDs(_ client: ProviderClient) async throws -> [String] {
        let keys = try await client.get("\(client.issuer)/jwks").json["keys"] as? [[String: String]] ?? []
        return keys.compactMap { $0["kid"] }
    }

    private func keyID(_ token: String) throws -> String? {
        let header = String(token.prefix { $0 != "." }).replacing("-", with: "+").replacing("_", with: "/")
        let padded = header + String(repeating: "=", count: (4 - header.count % 4) % 4)
        let fields = try JSONSerialization.jsonObject(with: try #require(Data(base64Encoded: padded)))
        return (fields as? [String: Any])?["kid"] as? String
    }
}
