import Foundation
import Testing
import VaultDevelopment

@Suite struct DPoPTests {
    private let key = ProofKey()

    @Test func `when tokens are DPoP-bound, then using them needs the key`() async throws {
        try await withDevelopmentIdentityProvider(options()) { provider in
            let client = ProviderClient(provider)
            let metadata = try await client.get("\(provider.issuer)/.well-known/openid-configuration")
            #expect(metadata.json["dpop_signing_alg_values_supported"] as? [String] == ["ES256"])
            let first = try await login(client)
            #expect(first["token_type"] == "DPoP")
            #expect(await provider.requests.last?.dpopThumbprint == key.thumbprint)

            #expect(try await userInfo(client, first, with: key)["sub"] != nil)
            let asBearer = try await client.get("\(client.issuer)/userinfo", bearer: first["access_token"])
            #expect(asBearer.status == 401)
            #expect(asBearer.headers["www-authenticate"] == #"DPoP error="invalid_token", algs="ES256""#)
            let other = try await userInfo(client, first, with: ProofKey())
            #expect(other.status == 401)
            #expect(other.headers["www-authenticate"]?.contains("invalid_token") == true)

            for wrong in [nil, ProofKey()] {
                let refused = try await refresh(client, first, with: wrong)
                #expect(refused.status == 400)
                #expect(refused["error"] == "invalid_grant")
                #expect(await provider.requests.last?.outcome == .wrongDPoPKey)
            }
            let second = try await refresh(client, first, with: key)
            #expect(second["token_type"] == "DPoP")
            #expect(try await userInfo(client, second, with: key).status == 200)
        }
    }

    @Test func `when a login lacks proof, then bearer tokens are issued`() async throws {
        try await withDevelopmentIdentityProvider(options()) { provider in
            let client = ProviderClient(provider)
            let first = try await client.login()
            #expect(first["token_type"] == "Bearer")
            #expect(try await userInfo(client, first, with: key).status == 401)
            let second = try await refresh(client, first, with: key)
            #expect(second["token_type"] == "DPoP")
            #expect(try await client.get("\(client.issuer)/userinfo", bearer: first["access_token"]).status == 200)
            #expect(try await refresh(client, second, with: nil)["error"] == "invalid_grant")
        }
    }

    @Test func `when a provider lacks DPoP, then proofs are ignored`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            let client = ProviderClient(provider)
            let tokens = try await client.post("/token", redemption(client.code()), headers: ["DPoP": "nonsense"])
            #expect(tokens["token_type"] == "Bearer")
            let metadata = try await client.get("\(provider.issuer)/.well-known/openid-configuration")
            #expect(metadata.json["dpop_signing_alg_values_supported"] == nil)
        }
    }

    @Test func `when proofs are required, then redeeming without one fails`() async throws {
        var options = options()
        options.dpop = .required
        try await withDevelopmentIdentityProvider(options) { provider in
            let client = ProviderClient(provider)
            let code = try await client.code()
            #expect(try await client.redeem(code: code)["error"] == "invalid_dpop_proof")
            #expect(try await login(client, code: code).status == 200)
        }
    }

    @Test(
        arguments: [
            ["htm": "GET"], ["htu": "http://127.0.0.1:1/token"], ["htu": "?"], ["iat": 1], ["iat": nil], ["jti": ""],
            ["jti": nil], ["ath": "x"],
        ] as [[String: (any Sendable)?]])
    func `when a proof's claims differ, then it is refused`(changes: [String: (any Sendable)?]) async throws {
        try await withDevelopmentIdentityProvider(options()) { provider in
            let client = ProviderClient(provider)
            var claims = changes.mapValues { $0 as Any? }
            if changes["htu"] as? String == "?" { claims["htu"] = "\(provider.issuer)/token?x=1" }
            try await expectRefusal(client, key.proof("POST", "\(provider.issuer)/token", changes: claims))
        }
    }

    @Test func `when a proof's signature is wrong, then it is refused`() async throws {
        try await withDevelopmentIdentityProvider(options()) { provider in
            let client = ProviderClient(provider)
            let url = "\(provider.issuer)/token"
            let right = try key.proof("POST", url)
            let parts = right.split(separator: ".").map(String.init)
            let others = try ProofKey().proof("POST", url).split(separator: ".").map(String.init)
            let wrong = [
                "", "x", "\(parts[0]).\(parts[1]).", "\(parts[0]).\(parts[1]).\(others[2])",
                "\(others[0]).\(parts[1]).\(parts[2])", right + "A",
                try key.proof("POST", url, header: ["typ": "JWT"]), try key.proof("POST", url, header: ["alg": "none"]),
                try key.proof("POST", url, header: ["alg": "HS256"]), try key.proof("POST", url, header: ["jwk": nil]),
                try key.proof("POST", url, header: ["jwk": key.privateKey]),
            ]
            for proof in wrong { try await expectRefusal(client, proof) }
        }
    }

    @Test func `when a proof is replayed, then it is refused`() async throws {
        try await withDevelopmentIdentityProvider(options()) { provider in
            let client = ProviderClient(provider)
            let proof = try key.proof("POST", "\(provider.issuer)/token")
            let fields = redemption(try await client.code())
            let first = try await client.post("/token", fields, headers: ["DPoP": proof])
            #expect(first.status == 200)
            let again = try await client.post("/token", refreshment(first), headers: ["DPoP": proof])
            #expect(again["error"] == "invalid_dpop_proof")
            #expect(try await refresh(client, first, with: key).status == 200)
            // UserInfo also checks the proof, which names the token there.
            let url = "\(provider.issuer)/userinfo"
            let header = [
                "Authorization": "DPoP \(first["access_token"] ?? "")",
                "DPoP": try key.proof("GET", url, token: first["access_token"]),
            ]
            #expect(try await client.get(url, headers: header).status == 200)
            let replayed = try await client.get(url, headers: header)
            #expect(replayed.status == 401)
            #expect(replayed.headers["www-authenticate"]?.contains("invalid_dpop_proof") == true)
            let unnamed = ["Authorization": header["Authorization"] ?? "", "DPoP": try key.proof("GET", url)]
            #expect(try await client.get(url, headers: unnamed).status == 401)
        }
    }

    @Test func `when a code is key-bound, then redeeming needs the key`() async throws {
        var options = options()
        options.pushedAuthorization = .offered
        try await withDevelopmentIdentityProvider(options) { provider in
            let client = ProviderClient(provider)
            for wrong in [nil, ProofKey()] {
                let code = try await client.code(["dpop_jkt": key.thumbprint])
                let header = try wrong.map { ["DPoP": try $0.proof("POST", "\(provider.issuer)/token")] } ?? [:]
                #expect(try await client.post("/token", redemption(code), headers: header)["error"] == "invalid_grant")
            }
            #expect(try await login(client, code: client.code(["dpop_jkt": key.thumbprint])).status == 200)

            func push(_ fields: [String: String]) async throws -> ProviderClient.Answer {
                let proof = try key.proof("POST", "\(provider.issuer)/par")
                return try await client.post("/par", fields, headers: ["DPoP": proof])
            }
            let fields = queryItems(client.authorizationURL())
            let mixed = try await push(fields.merging(["dpop_jkt": ProofKey().thumbprint]) { $1 })
            #expect(mixed["error"] == "invalid_dpop_proof")
            let pushed = try await push(fields)
            let uri = encoded(["client_id": "vault-cli", "request_uri": pushed["request_uri"] ?? ""])
            let redirect = try await ScriptedBrowser(username: "alice", password: "alice-password")
                .redirect(from: "\(provider.issuer)/authorize?\(uri)")
            let code = queryItems(redirect)["code"] ?? ""
            #expect(try await client.redeem(code: code)["error"] == "invalid_grant")
        }
    }

    @Test func `when nonces are demanded, then a proof needs one`() async throws {
        var options = options()
        options.demandsDPoPNonces = true
        try await withDevelopmentIdentityProvider(options) { provider in
            let client = ProviderClient(provider)
            let code = try await client.code()
            let refused = try await login(client, code: code)
            #expect(refused.status == 400)
            #expect(refused["error"] == "use_dpop_nonce")
            let nonce = try #require(refused.headers["dpop-nonce"])
            // Nothing was processed, so the code is still valid.
            let tokens = try await login(client, code: code, nonce: nonce)
            #expect(tokens.status == 200)
            #expect(tokens.headers["dpop-nonce"] == nonce)
            let without = try await userInfo(client, tokens, with: key)
            #expect(without.status == 401)
            #expect(without.headers["www-authenticate"] == #"DPoP error="use_dpop_nonce", algs="ES256""#)
            #expect(without.headers["dpop-nonce"] == nonce)
            #expect(try await userInfo(client, tokens, with: key, nonce: nonce).status == 200)

            await provider.renewDPoPNonce(keepingOld: true)
            let renewed = try await userInfo(client, tokens, with: key, nonce: nonce)
            #expect(renewed.status == 200)
            #expect(renewed.headers["dpop-nonce"] != nonce)
            await provider.renewDPoPNonce()
            #expect(try await userInfo(client, tokens, with: key, nonce: nonce).status == 401)
        }
    }

    @Test func `when a backend trusts the provider, then it checks proofs`() async throws {
        var options = options()
        options.demandsDPoPNonces = true
        try await withDevelopmentIdentityProvider(options) { provider in
            var backendOptions = DevelopmentBackend.Options()
            backendOptions.identityProvider = provider
            try await withDevelopmentBackend(backendOptions) { backend in
                let client = ProviderClient(provider)
                let code = try await client.code()
                let nonce = try await login(client, code: code).headers["dpop-nonce"]
                let token = try await login(client, code: code, nonce: nonce)["access_token"]
                let url = "\(backend.url)/api/items"
                func items(at target: String, nonce: String?) async throws -> ProviderClient.Answer {
                    let proof = try key.proof("GET", target, token: token, nonce: nonce)
                    return try await client.get(
                        "\(url)?page=1", headers: ["Authorization": "DPoP \(token ?? "")", "DPoP": proof])
                }
                #expect(try await items(at: url, nonce: nonce)["username"] == "alice")
                #expect(try await items(at: "\(client.issuer)/userinfo", nonce: nonce).status == 401)
                let refused = try await items(at: url, nonce: nil)
                #expect(refused.headers["www-authenticate"]?.contains("use_dpop_nonce") == true)
                #expect(refused.headers["dpop-nonce"] == nonce)
                #expect(try await client.get(url, bearer: token).status == 401)
                #expect(await backend.requests.map(\.authorization) == ["DPoP", "DPoP", "DPoP", "Bearer"])
            }
        }
    }

    // MARK: Helpers

    private func options() -> DevelopmentIdentityProvider.Options {
        var options = DevelopmentIdentityProvider.Options()
        options.dpop = .offered
        return options
    }

    private func redemption(_ code: String) -> [String: String] {
        [
            "grant_type": "authorization_code", "client_id": "vault-cli", "code": code,
            "redirect_uri": ProviderClient.redirectURI, "code_verifier": ProviderClient.verifier,
        ]
    }

    private func refreshment(_ tokens: ProviderClient.Answer) -> [String: String] {
        [
            "grant_type": "refresh_token", "client_id": "vault-cli",
            "refresh_token": tokens["refresh_token"] ?? "",
        ]
    }

    private func login(
        _ client: ProviderClient, code: String? = nil, nonce: String? = nil
    ) async throws -> ProviderClient.Answer {
        var code = code
        if code == nil { code = try await client.code() }
        let proof = try key.proof("POST", "\(client.issuer)/token", nonce: nonce)
        return try await client.post("/token", redemption(code ?? ""), headers: ["DPoP": proof])
    }

    private func refresh(
        _ client: ProviderClient, _ tokens: ProviderClient.Answer, with key: ProofKey?
    ) async throws -> ProviderClient.Answer {
        let header = try key.map { ["DPoP": try $0.proof("POST", "\(client.issuer)/token")] } ?? [:]
        return try await client.post("/token", refreshment(tokens), headers: header)
    }

    private func userInfo(
        _ client: ProviderClient, _ tokens: ProviderClient.Answer, with key: ProofKey, nonce: String? = nil
    ) async throws -> ProviderClient.Answer {
        let url = "\(client.issuer)/userinfo"
        let token = tokens["access_token"] ?? ""
        let proof = try key.proof("GET", url, token: token, nonce: nonce)
        return try await client.get(url, headers: ["Authorization": "DPoP \(token)", "DPoP": proof])
    }

    private func expectRefusal(_ client: ProviderClient, _ proof: String) async throws {
        let answer = try await client.post("/token", redemption("x"), headers: ["DPoP": proof])
        #expect(answer.status == 400)
        #expect(answer["error"] == "invalid_dpop_proof")
    }
}
