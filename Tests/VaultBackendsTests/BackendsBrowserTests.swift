import CredentialVault
import Foundation
import HTTPTypes
import Testing
import VaultAuthTestSupport
import VaultDevelopment
import VaultTesting

/// A backend in front of an identity provider. It gives only an access token.
@Suite struct BackendsBrowserTests {
    private let way = BackendSignIn(using: BackendsFixture.alice)

    @Test func `when a browser sign-in is stored, then the password suffices`() async throws {
        try await withBackend { fixture in
            let token = try await fixture.vault.auth.signIn(way)
            let user = DevelopmentIdentityProvider.User.alice
            #expect(token.account == AccountID(issuer: fixture.backend.url, subject: user.subject))
            #expect(token.method == .backend)
            #expect(token.identity.email == user.email && token.identity.preferredUsername == "alice")
            #expect(token.identity.name == user.name)
            #expect(token.credential.expiresAt == fixture.clock.now + 900)
            #expect(try await fixture.vault.auth.accessToken(of: token).value == token.value)
            try await fixture.vault.storage.storeRefreshToken(
                token, withNewPassword: SecretBytes(utf8: BackendsFixture.password))
            #expect(try await fixture.account().method == .backend)

            await fixture.backend.clearRequests()
            let vault = try await fixture.login()
            // The login counts only after the backend confirmed it.
            #expect(await fixture.asked == [.me])
            #expect(await fixture.backend.requests.last?.authorization == "Bearer")
            #expect(try await vault.auth.accessToken().value == token.value)
            guard try await fixture.restore().restored.state == .verified else {
                _ = Issue.record("not verified")
                return
            }
            #expect(await fixture.asked == [.me, .me])
        }
    }

    @Test func `when the code is exchanged, then no verifier is sent`() async throws {
        try await withBackend { fixture in
            try await fixture.register(way)
            let messages = fixture.wire.messages
            #expect(messages.map(\.path) == ["/auth/token"])
            #expect(messages.first?.json.keys.sorted() == ["code", "redirect_uri", "state"])
            #expect(messages.allSatisfy { !$0.body.contains("verifier") && $0.authorization == nil })
            #expect(await fixture.backend.requests.last?.outcome == .ok)
        }
    }

    @Test func `when the person denies access, then sign-in is cancelled`() async throws {
        try await withBackend { fixture in
            let error = await failure {
                try await fixture.vault.auth.signIn(
                    BackendSignIn(using: ScriptedBrowser(username: "alice", password: "", choice: .deny)))
            }
            #expect(error?.code == .cancelled)
            #expect(!fixture.vault.auth.isLoggedIn)
            #expect(await !fixture.asked.contains(.token))
        }
    }

    @Test(
        arguments: [
            ("code=", "kode=", VaultError.Code.tokenInvalid), ("state=", "stat=", .tokenInvalid),
            ("code=", "code=x&code=", .tokenInvalid),
            ("code=", "error=access_denied&code=", .tokenInvalid), ("code=", "code=&x=", .tokenInvalid),
            ("code=", "error=access_denied&x=", .cancelled),
            ("code=", "error=server_error&x=", .identityProviderUnavailable),
            ("code=", "error=unauthorized&x=", .configurationInvalid),
        ])
    func `when a redirect is malformed, then no code is exchanged`(
        part: String, replacement: String, code: VaultError.Code
    ) async throws {
        let uri = "myapp://callback"
        try await withBackend(.init(options: { $0.redirectURIs = [uri] }, configure: { $0.redirectURI = uri })) {
            fixture in
            let auth = fixture.vault.auth
            let error = await failure {
                try await auth.signIn(
                    BackendSignIn(
                        using: AppBrowser(auth: auth, person: BackendsFixture.alice) {
                            $0.replacing(part, with: replacement)
                        }))
            }
            #expect(error?.code == code)
            #expect(await !fixture.asked.contains(.token))
            #expect(fixture.wire.messages.isEmpty)
        }
    }

    @Test func `when a redirect has extra parts, then sign-in succeeds`() async throws {
        let uri = "myapp://callback"
        try await withBackend(.init(options: { $0.redirectURIs = [uri] }, configure: { $0.redirectURI = uri })) {
            fixture in
            let auth = fixture.vault.auth
            let browser = AppBrowser(auth: auth, person: BackendsFixture.alice) { $0 + "&session=x#top" }
            let token = try await auth.signIn(BackendSignIn(using: browser))
            #expect(token.identity.preferredUsername == "alice")
        }
    }

    @Test func `when the access token has ended, then nothing is sent`() async throws {
        try await withBackend { fixture in
            try await fixture.register(way)
            let sealed = try await fixture.sealedCredential()
            fixture.clock.advance(by: 900)
            await fixture.backend.clearRequests()
            #expect(await failure { try await fixture.login() }?.code == .refreshTokenExpired)
            let (restored, vault) = try await fixture.restore()
            guard restored.state == .expired, let error = restored.error else {
                _ = Issue.record("not expired")
                return
            }
            #expect(error.description.contains("Register again"))
            #expect(!vault.auth.isLoggedIn)
            #expect(await fixture.asked == [])
            #expect(try await fixture.sealedCredential() == sealed)
        }
    }

    @Test func `when the backend answers 403, then the session stays open`() async throws {
        try await withBackend { fixture in
            let session = try await fixture.register(way)
            fixture.wire.answer("/auth/me", #"{"error":"no"}"#, status: 403)
            let error = await failure { _ = try await session.accessToken(forceRefresh: true) }
            #expect(error?.code == .configurationInvalid)
            #expect(session.isOpen)
        }
    }

    @Test func `when the backend answers 401, then the session is expired`() async throws {
        try await withBackend { fixture in
            try await fixture.register(way)
            fixture.wire.answer("/auth/me", #"{"error":"no"}"#, status: 401)
            guard try await fixture.restore().restored.state == .expired else {
                _ = Issue.record("not expired")
                return
            }
            fixture.wire.answer("/auth/me", nil)
            // The stored token stays, because the backend's mistake can be corrected.
            guard try await fixture.restore().restored.state == .verified else {
                _ = Issue.record("not verified")
                return
            }
            await fixture.backend.endAllSessions()
            guard try await fixture.restore().restored.state == .expired else {
                _ = Issue.record("not expired")
                return
            }
        }
    }

    @Test func `when the backend is unreachable, then the login stays`() async throws {
        try await withBackend { fixture in
            let session = try await fixture.register(way)
            let mine = try await session.accessToken().value
            await fixture.stopBackend()
            let (restored, vault) = try await fixture.restore()
            guard restored.state == .unverified, let error = restored.error else {
                _ = Issue.record("not unverified")
                return
            }
            #expect(error.code == .identityProviderUnavailable)
            #expect(vault.auth.isLoggedIn)
            #expect(try await vault.auth.accessToken().value == mine)
            #expect(try await fixture.account().refreshStartedAt == nil)
        }
    }

    @Test(
        arguments: [
            (500, "", VaultError.Code.identityProviderUnavailable), (429, "", .identityProviderUnavailable),
            (200, "<html>Log in to the café's network</html>", .identityProviderAnswerInvalid),
            (200, "[]", .identityProviderAnswerInvalid),
            (302, "", .identityProviderAnswerInvalid),
            (200, #"{"username":""}"#, .identityProviderAnswerInvalid),
        ])
    func `when an answer is unclear, then the session stays open`(
        status: Int, body: String, code: VaultError.Code
    ) async throws {
        try await withBackend { fixture in
            try await fixture.register(way)
            fixture.wire.answer("/auth/me", body, status: status)
            let restored = try await fixture.restore().restored
            guard restored.state == .unverified, let session = restored.session, let error = restored.error else {
                _ = Issue.record("not unverified")
                return
            }
            #expect(error.code == code)
            #expect(session.isOpen)
            #expect(try await fixture.account().refusedAt == nil)
            fixture.wire.answer("/auth/me", nil)
            _ = try await session.accessToken(forceRefresh: true)
            #expect(try await fixture.account().refreshStartedAt == nil)
        }
    }

    @Test(arguments: [HTTPError.Code.notConnected, .timedOut, .interrupted])
    func `when a call breaks off, then no refresh is marked`(code: HTTPError.Code) async throws {
        try await withBackend { fixture in
            let session = try await fixture.register(way)
            fixture.wire.fail("/auth/me", code)
            #expect(await failure { _ = try await session.accessToken(forceRefresh: true) } != nil)
            #expect(session.isOpen)
            #expect(try await fixture.account().refreshStartedAt == nil)
            #expect(try await fixture.account().refusedAt == nil)
            fixture.wire.fail("/auth/me", nil)
            await fixture.backend.endAllSessions()
            let error = await failure { _ = try await session.accessToken(forceRefresh: true) }
            #expect(error?.code == .refreshTokenExpired)
        }
    }

    @Test func `when an answer names another person, then it is refused`() async throws {
        try await withBackend { fixture in
            try await fixture.register(way)
            let credential = try await fixture.credential()
            fixture.wire.answer("/auth/me", #"{"id":"somebody","username":"bob"}"#)
            #expect(await failure { try await fixture.login() }?.code == .tokenInvalid)
            #expect(await failure { _ = try await fixture.restore() }?.code == .tokenInvalid)
            #expect(try await fixture.credential() == credential)
            fixture.wire.answer("/auth/me", nil)
            try await fixture.login()
        }
    }

    @Test func `when requests get 401, then the token is checked once`() async throws {
        try await withBackend { fixture in
            try await fixture.register(way)
            let api = try fixture.vault.auth.authorizedTransport(for: [fixture.backend.url])
            let port = "127.0.0.1:\(fixture.backend.port)"
            let request = HTTPRequest(method: .get, scheme: "http", authority: port, path: "/api/items")
            #expect(try await api.send(request, body: [], limits: HTTPLimits()).status == .ok)
            // A server may refuse a token that the backend still accepts. The app gets the server's answer, and nobody
            // is logged out.
            fixture.wire.answer("/api/items", "", status: 401)
            #expect(try await api.send(request, body: [], limits: HTTPLimits()).status == .unauthorized)
            #expect(fixture.wire.messages(to: "/auth/me").count == 1)
            #expect(fixture.wire.messages(to: "/api/items").count == 3)
            #expect(fixture.vault.auth.isLoggedIn)
            fixture.wire.answer("/api/items", nil)
            await fixture.backend.invalidateAccessTokens()
            let error = await failure { _ = try await api.send(request, body: [], limits: HTTPLimits()) }
            #expect(error?.code == .refreshTokenExpired)
            #expect(!fixture.vault.auth.isLoggedIn)
        }
    }

    @Test func `when an account logs out everywhere, then its token ends`() async throws {
        try await withBackend { fixture in
            let session = try await fixture.register(way)
            let value = try await session.accessToken().value
            #expect(try await fixture.vault.auth.logoutEverywhere() == nil)
            #expect(await fixture.backend.requests.last?.endpoint == .logout)
            #expect(fixture.wire.messages.last?.authorization == "Bearer \(value)")
            #expect(await failure { try await fixture.login() }?.code == .notLoggedIn)
        }
    }

    @Test func `when the backend is unreachable, then logging out everywhere works`() async throws {
        try await withBackend { fixture in
            try await fixture.register(way)
            await fixture.stopBackend()
            #expect(try await fixture.vault.auth.logoutEverywhere()?.code == .identityProviderUnavailable)
            #expect(!fixture.vault.auth.isLoggedIn)
        }
    }

    @Test func `when a token lacks an expiry, then it is rechecked`() async throws {
        try await withBackend(
            .init(options: {
                $0.announcesLifetime = false
                $0.accessTokenLifetime = 86_400
            })
        ) { fixture in
            let session = try await fixture.register(way)
            await fixture.backend.clearRequests()
            for _ in 1...3 { #expect(try await session.accessToken().expiresAt == nil) }
            #expect(await fixture.asked == [])
            fixture.clock.advance(by: 300)
            for _ in 1...3 { #expect(try await session.accessToken().expiresAt == nil) }
            #expect(await fixture.asked == [.me])
            #expect(try await fixture.account().accessTokenExpiresAt == nil)
            fixture.clock.advance(by: 86_400)
            #expect(await failure { _ = try await session.accessToken() }?.code == .refreshTokenExpired)
        }
    }

    @Test(
        arguments: [
            (400, #"{"error":"The code was used."}"#, VaultError.Code.configurationInvalid, "The code was used."),
            (403, #"{"error":{"message":"Not you."}}"#, .configurationInvalid, "Not you."),
            (503, "", .identityProviderUnavailable, "503"),
            (200, #"{"error":"Later."}"#, .configurationInvalid, "access token"),
            (200, "no JSON", .identityProviderAnswerInvalid, "JSON"),
            (200, #"{"access_token":"x","user":{}}"#, .configurationInvalid, "identifier"),
            (200, #"{"access_token":"x\r\nHost: y","user":{"id":"1"}}"#, .configurationInvalid, "access token"),
            (200, #"{"access_token":"x","token_type":"mac","user":{"id":"1"}}"#, .configurationInvalid, "type"),
        ])
    func `when an exchange fails, then the error says why`(
        status: Int, body: String, code: VaultError.Code, text: String
    ) async throws {
        try await withBackend { fixture in
            fixture.wire.answer("/auth/token", body, status: status)
            let error = await failure { try await fixture.vault.auth.signIn(way) }
            #expect(error?.code == code)
            #expect(error?.description.contains(text) == true)
            #expect(!fixture.vault.auth.isLoggedIn)
            #expect(fixture.wire.messages.count == 1)
        }
    }

    @Test func `when an answer is odd but harmless, then sign-in succeeds`() async throws {
        try await withBackend { fixture in
            fixture.wire.answer(
                "/auth/token", #"{"access_token":"x","token_type":"bEARER","expires_in":"60","user":{"id":17}}"#)
            let token = try await fixture.vault.auth.signIn(way)
            #expect(token.account.subject == "17")
            #expect(token.credential.expiresAt == fixture.clock.now + 60)
        }
    }

    @Test func `when the person is among tokens, then claims omit them`() async throws {
        try await withBackend { fixture in
            fixture.wire.answer(
                "/auth/token", #"{"accessToken":"secret-a","sessionSecret":"secret-s","id":"1","email":"a@b.example"}"#)
            let identity = try await fixture.vault.auth.signIn(way).identity
            #expect(identity.email == "a@b.example")
            #expect(!String(decoding: identity.claimsJSON, as: UTF8.self).contains("secret"))
        }
    }

    @Test func `when paths and fields are set, then sign-in uses them`() async throws {
        try await withBackend(
            .init(
                options: {
                    $0.paths = .init(under: "/notes")
                    $0.paths.login = "/notes/in"
                    $0.paths.token = "/notes/exchange"
                    $0.paths.me = "/notes/v2/whoami"
                },
                configure: {
                    $0.issuer = ($0.issuer ?? "").uppercased() + "//notes/"
                    $0.backend.browser.login = "/in"
                    $0.backend.browser.token = "exchange"
                    $0.backend.browser.me = "/v2/whoami"
                    $0.backend.browser.user.fullName = "email"
                })
        ) { fixture in
            try await fixture.register(way)
            #expect(try await fixture.account().id.issuer == fixture.backend.url + "/notes")
            let vault = try await fixture.login()
            #expect(try await vault.auth.refreshToken.identity.name == "alice@example.com")
            #expect(await fixture.asked.last == .me)
            // All spellings of the address name the same backend. Another address names another backend.
            let other = try await fixture.anotherVault { $0.issuer = "https://other.example.com" }
            #expect(try await other.storage.all().isEmpty)
        }
    }

    @Test func `when fields are nested, then sign-in finds them`() async throws {
        try await withBackend(
            .init(configure: {
                $0.backend.browser.tokens.accessToken = "data.tokens.access"
                $0.backend.browser.user.object = "data.person"
                $0.backend.browser.user.id = "ids.main"
                $0.backend.browser.code = "answer.code"
            })
        ) { fixture in
            fixture.wire.answer(
                "/auth/token",
                #"{"data":{"tokens":{"access":"x"},"person":{"ids":{"main":"p1"},"username":"pat"}}}"#)
            let uri = "http://127.0.0.1/callback?answer.code=c&state=s"
            let token = try await fixture.vault.auth.signIn(
                BackendSignIn(using: NoBrowser(), redirect: .pasted { _ in uri }))
            #expect(token.value == "x" && token.account.subject == "p1")
            #expect(token.identity.preferredUsername == "pat")
            #expect(fixture.wire.messages.last?.body.contains(#""answer":{"code":"c"}"#) == true)
        }
    }
}

/// A browser on another machine.
struct NoBrowser: UserAgent {
    func open(_ url: String) async throws {}
}
