import Foundation
import Testing
import VaultDevelopment

@Suite struct BackendResourceTests {
    @Test func `when a token becomes invalid, then resources answer 401`() async throws {
        try await withDevelopmentBackend(.lenient) { backend in
            let client = BackendClient(backend)
            let tokens = [
                try await client.redeem(client.browserLogin())["access_token"],
                try await client.login(password: "alice-password")["accessToken"],
                try await client.oauthLogin(client.register())["access_token"],
            ]
            for token in tokens {
                let items = try await client.get("/api/items", bearer: token)
                #expect(items.status == 200)
                #expect(items["username"] == "alice")
            }
            let added = try await client.post("/api/items", ["name": "third"], bearer: tokens[0])
            #expect(added.status == 201)
            #expect(added.json["items"] as? [String] == ["first", "second", "third"])
            await backend.invalidateAccessTokens()
            for token in tokens + [nil] {
                let refused = try await client.get("/api/items", bearer: token)
                #expect(refused.status == 401)
                #expect(refused["error"] == "The access token is not valid.")
                #expect(refused.headers["www-authenticate"] != nil)
            }
            #expect(await backend.requests.last?.authorization == nil)
        }
    }

    @Test func `when access tokens are invalidated, then refresh tokens still work`() async throws {
        try await withDevelopmentBackend { backend in
            let client = BackendClient(backend)
            let first = try await client.login(password: "alice-password")
            await backend.invalidateAccessTokens()
            let second = try await client.refresh(first["refreshToken"])
            #expect(try await client.get("/api/items", bearer: second["accessToken"]).status == 200)
            await backend.endAllSessions()
            #expect(try await client.refresh(second["refreshToken"]).status == 401)
        }
    }

    @Test(arguments: [(true, 200), (false, 401)])
    func `when GraphQL refuses a token, then its body says why`(errorsAreOK: Bool, status: Int) async throws {
        var options = DevelopmentBackend.Options()
        options.graphQLErrorsAreOK = errorsAreOK
        try await withDevelopmentBackend(options) { backend in
            let client = BackendClient(backend)
            let query = ["query": "{ viewer { username } }"]
            let refused = try await client.post("/graphql", query, bearer: "x")
            #expect(refused.status == status)
            let errors = try #require(refused.json["errors"] as? [[String: Any]])
            #expect(errors[0]["message"] as? String == "The access token is not valid.")
            #expect(errors[0]["extensions"] as? [String: String] == ["code": "UNAUTHENTICATED"])
            let token = try await client.login(password: "alice-password")["accessToken"]
            let answer = try await client.post("/graphql", query, bearer: token)
            #expect(answer.status == 200)
            let viewer = (answer.json["data"] as? [String: Any])?["viewer"] as? [String: Any]
            #expect(viewer?["username"] as? String == "alice")
            #expect(
                await backend.requests.filter { $0.endpoint == .graphQL }.map(\.outcome.rawValue)
                    == ["invalid_token", "ok"])
        }
    }

    @Test func `when a resource has moved, then a redirect leads there`() async throws {
        try await withDevelopmentBackend { other in
            var options = DevelopmentBackend.Options()
            options.elsewhere = "\(other.url)/api/items"
            try await withDevelopmentBackend(options) { backend in
                let client = BackendClient(backend)
                let moved = try await client.get("/api/moved")
                #expect(moved.status == 302)
                #expect(moved.headers["location"] == "/api/items")
                let elsewhere = try await client.get("/api/elsewhere")
                #expect(elsewhere.status == 302)
                #expect(elsewhere.headers["location"] == options.elsewhere)
            }
        }
    }

    @Test func `when a provider is trusted, then its tokens are accepted`() async throws {
        try await withDevelopmentIdentityProvider { provider in
            var options = DevelopmentBackend.Options()
            options.identityProvider = provider
            try await withDevelopmentBackend(options) { backend in
                let client = BackendClient(backend)
                let tokens = try await ProviderClient(provider).login()
                #expect(try await client.get("/api/items", bearer: tokens["access_token"])["username"] == "alice")
                try await provider.invalidateAccessTokens()
                #expect(try await client.get("/api/items", bearer: tokens["access_token"]).status == 401)
                let renewed = try await ProviderClient(provider).refresh(tokens["refresh_token"])
                #expect(try await client.get("/api/items", bearer: renewed["access_token"]).status == 200)
            }
        }
    }

    @Test func `when endpoints have faults, then each shows its own`() async throws {
        try await withDevelopmentBackend { backend in
            let client = BackendClient(backend)
            let first = try await client.login(password: "alice-password")
            await backend.setFault(.status(503, retryAfter: 9), times: 1, at: .items)
            await backend.setFault(.swallowAnswerAfterProcessing, times: 1, at: .refresh)
            let unavailable = try await client.get("/api/items", bearer: first["accessToken"])
            #expect(unavailable.status == 503)
            #expect(unavailable.headers["retry-after"] == "9")
            #expect(try await client.get("/api/items", bearer: first["accessToken"]).status == 200)
            await #expect(throws: (any Error).self) { try await client.refresh(first["refreshToken"]) }
            #expect(await backend.requests.last?.outcome == .answerSwallowed)
            #expect(await backend.requests.last?.issuedGeneration == 2)
            #expect(try await client.refresh(first["refreshToken"]).status == 401)

            await backend.setFault(.delayAnswer, times: 2, at: .info)
            async let one = client.get("/api/info").status
            async let two = client.get("/api/info").status
            await backend.waitUntilDelayed(2)
            #expect(await backend.requests.count { $0.endpoint == .info } == 2)
            await backend.releaseDelayed()
            #expect(try await [one, two] == [200, 200])
            await backend.clearRequests()
            #expect(await backend.requests.isEmpty)
        }
    }

    @Test func `when the port is in use, then starting fails`() async throws {
        let backend = try await DevelopmentBackend.start()
        var options = DevelopmentBackend.Options()
        options.port = backend.port
        let error = await #expect(throws: VaultDevelopmentError.self) { try await DevelopmentBackend.start(options) }
        #expect(error?.code == .addressInUse)
        await backend.stop()
        let next = try await DevelopmentBackend.start(options)
        #expect(next.url == backend.url)
        await next.stop()
        options.host = "0.0.0.0"
        let foreign = await #expect(throws: VaultDevelopmentError.self) { try await DevelopmentBackend.start(options) }
        #expect(foreign?.code == .invalidOption)
    }
}
