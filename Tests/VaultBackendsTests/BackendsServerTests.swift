import CredentialVault
import Foundation
import Testing
import VaultAuthTestSupport
import VaultBase
import VaultDevelopment
import VaultTesting

/// A server that says whether it has OAuth or only API tokens.
@Suite struct BackendsServerTests {
    private func way(
        _ typist: Typist? = nil, choosing choice: ServerSignIn.Choice = .automatic,
        using userAgent: any UserAgent = BackendsFixture.alice
    ) -> ServerSignIn {
        ServerSignIn(using: userAgent, asking: typist, choosing: choice)
    }

    // MARK: - OAuth

    @Test func `when an OAuth sign-in is stored, then the password suffices`() async throws {
        try await withBackend { fixture in
            let typist = Typist()
            let browser = WatchedBrowser(BackendsFixture.alice)
            let token = try await fixture.vault.auth.signIn(way(typist, using: browser))
            let user = DevelopmentIdentityProvider.User.alice
            #expect(token.account == AccountID(issuer: fixture.backend.url, subject: user.subject))
            #expect(token.method == .serverOAuth && !token.clientID.isEmpty)
            #expect(token.identity.email == user.email && token.scope == "profile:read items:read")
            #expect(typist.requests.isEmpty)
            #expect(
                await fixture.asked == [.info, .oauthClient, .authorize, .loginPage, .oauthToken, .profile])
            let url = try #require(browser.urls.first)
            #expect(url.contains("code_challenge_method=S256") && url.contains("scope=profile%3Aread%20items%3Aread"))
            #expect(!url.contains("code_verifier"))
            let form = try #require(fixture.wire.messages(to: "/api/oauth/token").first?.body)
            #expect(form.contains("code_verifier=") && form.contains("grant_type=authorization_code"))

            try await fixture.vault.storage.storeRefreshToken(
                token, withNewPassword: SecretBytes(utf8: BackendsFixture.password))
            #expect(try await fixture.account().method == .serverOAuth)
            for generation in 1...2 {
                let vault = try await fixture.login()
                #expect(await fixture.backend.requests.last?.presentedGeneration == generation)
                #expect(try await vault.auth.accessToken().isValid(for: .seconds(800), at: fixture.clock.now))
            }
            #expect(await fixture.backend.requests.allSatisfy { $0.outcome == .ok })
        }
    }

    @Test func `when OAuth omits the refresh token, then logins are confirmed`() async throws {
        try await withBackend(.init(options: { $0.oauthIssuesRefreshToken = false })) { fixture in
            let session = try await fixture.register(way())
            let value = try await session.accessToken().value
            #expect(
                try await fixture.credential()
                    == Credential(value: value, scope: "profile:read items:read", isAccessToken: true))
            await fixture.backend.clearRequests()
            let vault = try await fixture.login()
            #expect(try await vault.auth.accessToken().value == value)
            #expect(await fixture.asked == [.profile])
            fixture.clock.advance(by: 366 * 86_400)
            try await fixture.login()
            await fixture.backend.invalidateAccessTokens()
            #expect(await failure { try await fixture.login() }?.code == .refreshTokenExpired)
        }
    }

    @Test func `when a server keeps clients, then one client is registered`() async throws {
        try await withBackend(.init(configure: { $0.backend.server.keepsClient = true })) { fixture in
            let first = try await fixture.vault.auth.signIn(way())
            let second = try await fixture.anotherVault().auth.signIn(way())
            #expect(first.clientID == second.clientID)
            #expect(await fixture.asked.count { $0 == .oauthClient } == 1)
            // A server that has forgotten the client gets a new one.
            await fixture.backend.forgetClients()
            await #expect(throws: VaultDevelopmentError.self) {
                try await fixture.vault.auth.signIn(way(choosing: .oauth))
            }
            let third = try await fixture.vault.auth.signIn(way(choosing: .oauth))
            #expect(third.clientID != first.clientID)
            #expect(await fixture.asked.count { $0 == .oauthClient } == 2)
            // The client stays registered after the person says no.
            let denying = ScriptedBrowser(username: "alice", password: "", choice: .deny)
            #expect(await failure { try await fixture.vault.auth.signIn(way(using: denying)) }?.code == .cancelled)
            #expect(try await fixture.vault.auth.signIn(way()).clientID == third.clientID)
            let anew = try await fixture.anotherVault { $0.registersClientAnew = true }.auth.signIn(way())
            #expect(anew.clientID != third.clientID)
            let configured = try await fixture.anotherVault { $0.clientID = "given" }
            _ = try? await configured.auth.signIn(way(choosing: .oauth))
            #expect(await fixture.asked.count { $0 == .oauthClient } == 3)
        }
    }

    @Test func `when a client has a secret, then refreshes send it`() async throws {
        try await withBackend { fixture in
            let known = try await fixture.vault.auth.signIn(way()).clientID
            let answer = #"{"client_id":"\#(known)","client_secret":"a-secret"}"#
            fixture.wire.answer("/api/oauth/client", answer, status: 201)
            let vault = try await fixture.anotherVault { $0.registersClientAnew = true }
            // The port differs from the client's port, so the test plays its answers.
            let token = #"{"access_token":"x","refresh_token":"r","expires_in":900,"scope":"profile:read"}"#
            fixture.wire.answer("/api/oauth/token", token)
            fixture.wire.answer("/api/profile", #"{"user":{"username":"alice"}}"#)
            let agent = WatchedBrowser(nil)
            let redirect: RedirectDelivery = .pasted { _ in "http://127.0.0.1:8765/callback?code=c&state=\(agent.state)"
            }
            let signedIn = try await vault.auth.signIn(ServerSignIn(using: agent, redirect: redirect))
            #expect(signedIn.credential.clientSecret == "a-secret")
            // The server has only names, so the names are used.
            #expect(signedIn.account.subject == "alice")
            try await vault.storage.storeRefreshToken(
                signedIn, withNewPassword: SecretBytes(utf8: BackendsFixture.password))
            _ = try await vault.auth.accessToken(forceRefresh: true)
            let forms = fixture.wire.messages(to: "/api/oauth/token").suffix(2).map(\.body)
            #expect(forms.allSatisfy { $0.contains("client_secret=a-secret") })
        }
    }

    @Test func `when a refresh answer is lost, then login reports interruption`() async throws {
        try await withBackend { fixture in
            let session = try await fixture.register(way())
            await fixture.backend.setFault(.swallowAnswerAfterProcessing, times: 1, at: .oauthToken)
            let first = await failure { _ = try await session.accessToken(forceRefresh: true) }
            #expect(first?.code == .identityProviderInterrupted)
            #expect(await failure { try await fixture.login() }?.code == .refreshInterrupted)
        }
    }

    // MARK: - API tokens

    @Test(arguments: [nil, [], ["mail"]])
    func `when a server lacks OAuth, then the password is asked`(features: [String]?) async throws {
        try await withBackend(.init(options: { $0.features = features })) { fixture in
            let typist = Typist()
            let token = try await fixture.vault.auth.signIn(way(typist))
            #expect(typist.requests.map(\.reason) == [.noOAuth])
            #expect(typist.requests.first?.server == fixture.backend.url)
            #expect(typist.requests.first?.description.contains("has no OAuth") == true)
            #expect(token.method == .serverToken && token.clientID.isEmpty)
            #expect(token.account.subject == DevelopmentIdentityProvider.User.alice.subject)
            #expect(await fixture.asked == [.info, .apiToken, .apiToken, .profile])
            // The server is first asked without a password.
            #expect(fixture.wire.messages(to: "/api/auth").first?.body == "{}")
            #expect(fixture.wire.messages(to: "/api/auth").last?.json["application"] == "Credential Vault")
            #expect(try await fixture.vault.auth.accessToken(of: token).value == token.value)
            try await fixture.vault.storage.storeRefreshToken(
                token, withNewPassword: SecretBytes(utf8: BackendsFixture.password))
            #expect(try await fixture.account().method == .serverToken)

            await fixture.backend.clearRequests()
            fixture.clock.advance(by: 366 * 86_400)
            let vault = try await fixture.login()
            #expect(await fixture.asked == [.profile])
            #expect(try await vault.auth.accessToken().value == token.value)
            // An API token has no expiry, and none is invented.
            #expect(try await vault.auth.accessToken().expiresAt == nil)
            #expect(try await fixture.account().accessTokenExpiresAt == nil)
            await fixture.backend.endAllSessions()
            guard try await fixture.restore().restored.state == .expired else {
                _ = Issue.record("not expired")
                return
            }
        }
    }

    @Test func `when a method is chosen, then no other is used`() async throws {
        try await withBackend { fixture in
            let typist = Typist()
            let token = try await fixture.vault.auth.signIn(way(typist, choosing: .apiToken))
            #expect(token.method == .serverToken)
            #expect(typist.requests.map(\.reason) == [.chosen])
            await fixture.backend.setFeatures(nil)
            let error = await failure { try await fixture.vault.auth.signIn(way(typist, choosing: .oauth)) }
            #expect(error?.code == .configurationInvalid)
            #expect(error?.description.contains("OAuth") == true)
            #expect(typist.requests.count == 1)
            #expect(await failure { try await fixture.vault.auth.signIn(way()) }?.code == .configurationInvalid)
        }
    }

    @Test(arguments: ["oauthClient", "oauthToken", "profile"])
    func `when OAuth fails, then the password request says so`(place: String) async throws {
        let endpoint: BackendRequest.Endpoint =
            place == "oauthClient" ? .oauthClient : place == "oauthToken" ? .oauthToken : .profile
        for fault in [
            ProviderFault.status(500), .status(404), .error("invalid_request"), .answer(body: "<html>"),
            .swallowAnswerAfterProcessing,
        ] {
            try await withBackend { fixture in
                await fixture.backend.setFault(fault, times: 1, at: endpoint)
                let typist = Typist()
                let token = try await fixture.vault.auth.signIn(way(typist))
                #expect(token.method == .serverToken)
                #expect(typist.requests.map(\.reason) == [.oauthFailed])
                #expect(typist.requests.first?.failure != nil)
                #expect(typist.requests.first?.description.contains("did not work") == true)
                // If the app chooses OAuth, or nobody can be asked, the app gets the error.
                await fixture.backend.setFault(fault, times: 2, at: endpoint)
                let insisting = try await fixture.anotherVault { $0.registersClientAnew = true }
                #expect(await failure { try await insisting.auth.signIn(way(typist, choosing: .oauth)) } != nil)
                #expect(await failure { try await insisting.auth.signIn(way()) } != nil)
                #expect(typist.requests.count == 1)
            }
        }
    }

    @Test func `when no browser opens, then the password is asked`() async throws {
        struct Broken: UserAgent {
            func open(_ url: String) async throws { throw VaultError(.configurationInvalid, "No browser.") }
        }
        try await withBackend { fixture in
            let typist = Typist()
            let token = try await fixture.vault.auth.signIn(way(typist, using: Broken()))
            #expect(token.method == .serverToken)
            #expect(typist.requests.first?.failure?.description == "No browser.")
        }
    }

    @Test(
        arguments: [
            ("code=", "error=access_denied&x=", VaultError.Code.cancelled, false),
            ("code=…", "error=access_denied", .cancelled, false), ("code=", "code=x&code=", .tokenInvalid, false),
            ("code=", "kode=", .tokenInvalid, false),
            ("code=", "iss=https://elsewhere.example.com&code=", .tokenInvalid, false),
            ("code=", "iss=nonsense&code=", .tokenInvalid, false),
            ("code=", "error=server_error&x=", .identityProviderUnavailable, true),
            ("code=", "error=invalid_scope&x=", .configurationInvalid, true),
        ])
    func `when redirects deny or mislead, then no password is asked`(
        part: String, replacement: String, code: VaultError.Code, fallsBack: Bool
    ) async throws {
        let uri = "myapp://callback"
        try await withBackend(.init(configure: { $0.redirectURI = uri })) { fixture in
            let (auth, typist) = (fixture.vault.auth, Typist(refusing: ()))
            let changed = AppBrowser(auth: auth, person: BackendsFixture.alice) { redirect in
                guard part.hasSuffix("…"), let range = redirect.range(of: part.dropLast()) else {
                    return redirect.replacing(part, with: replacement)
                }
                return redirect[..<range.lowerBound] + replacement
            }
            let error = await failure { try await auth.signIn(way(typist, using: changed)) }
            #expect(error?.code == (fallsBack ? .cancelled : code))
            #expect(typist.requests.count == (fallsBack ? 1 : 0))
            if fallsBack { #expect(typist.requests.first?.failure?.code == code) }
            #expect(await !fixture.asked.contains(.oauthToken))
            #expect(fixture.wire.messages(to: "/api/auth").allSatisfy { $0.body == "{}" })
        }
    }

    @Test(arguments: ["code=c&state=x", "code=c&stat=x", "error=server_error"])
    func `when another sign-in's redirect comes, then no password is asked`(query: String) async throws {
        try await withBackend { fixture in
            let typist = Typist()
            let pasted: RedirectDelivery = .pasted { objection in
                if let objection { throw objection }
                return "http://127.0.0.1/callback?\(query)"
            }
            let way = ServerSignIn(using: NoBrowser(), redirect: pasted, asking: typist)
            #expect(await failure { try await fixture.vault.auth.signIn(way) }?.code == .tokenInvalid)
            #expect(typist.requests.isEmpty)
        }
    }

    @Test func `when a redirect names the server, then sign-in succeeds`() async throws {
        try await withBackend(.init(configure: { $0.redirectURI = "myapp://callback" })) { fixture in
            let (auth, url) = (fixture.vault.auth, fixture.backend.url)
            let browser = AppBrowser(auth: auth, person: BackendsFixture.alice) { "\($0)&iss=\(url)/" }
            let token = try await auth.signIn(way(choosing: .oauth, using: browser))
            #expect(token.method == .serverOAuth)
        }
    }

    @Test func `when OAuth tokens are another person's, then refreshing fails`() async throws {
        try await withBackend { fixture in
            let session = try await fixture.register(way())
            // {"sub":"somebody else"}
            let token = "e30.eyJzdWIiOiJzb21lYm9keSBlbHNlIn0.e30"
            fixture.wire.answer("/api/oauth/token", #"{"access_token":"\#(token)","refresh_token":"r"}"#)
            fixture.wire.answer("/api/profile", "", status: 503)
            let unknown = await failure { _ = try await session.accessToken(forceRefresh: true) }
            #expect(unknown?.code == .identityProviderUnavailable)
            fixture.wire.answer("/api/profile", #"{"user":{"id":"b"}}"#)
            #expect(await failure { _ = try await session.accessToken(forceRefresh: true) }?.code == .tokenInvalid)
            fixture.wire.answer("/api/profile", #"{"user":{"id":"\#(session.id.subject)"}}"#)
            #expect(try await session.accessToken(forceRefresh: true).value == token)
        }
    }

    @Test func `when the person types no password, then sign-in is cancelled`() async throws {
        try await withBackend(.init(options: { $0.features = nil })) { fixture in
            let error = await failure { try await fixture.vault.auth.signIn(way(Typist(refusing: ()))) }
            #expect(error?.code == .cancelled)
            #expect(await fixture.asked == [.info, .apiToken])
            #expect(fixture.wire.messages.last?.body == "{}")
        }
    }

    @Test func `when a server password is wrong, then the attempt counts`() async throws {
        try await withBackend(.init(options: { $0.features = nil })) { fixture in
            let wrong = way(Typist("alice", "no"))
            #expect(await failure { try await fixture.vault.auth.signIn(wrong) }?.code == .wrongSecret)
            #expect(await failure { try await fixture.vault.auth.signIn(way(Typist())) }?.code == .tooManyAttempts)
            #expect(
                await failure { try await fixture.vault.auth.signIn(way(Typist("alice", " "))) }?.code
                    == .passwordUnusable)
            #expect(fixture.wire.messages(to: "/api/auth").count { $0.body != "{}" } == 1)
            fixture.clock.advance(by: 1)
            try await fixture.vault.auth.signIn(way(Typist()))
        }
    }

    @Test(
        arguments: [
            (200, "<html>", VaultError.Code.identityProviderAnswerInvalid), (503, "", .identityProviderUnavailable),
            (403, "", .configurationInvalid),
        ])
    func `when the server information fails, then no password is asked`(
        status: Int, body: String, code: VaultError.Code
    ) async throws {
        try await withBackend { fixture in
            fixture.wire.answer("/api/info", body, status: status)
            let typist = Typist()
            for choice in [ServerSignIn.Choice.automatic, .apiToken, .oauth] {
                let error = await failure { try await fixture.vault.auth.signIn(way(typist, choosing: choice)) }
                #expect(error?.code == code)
            }
            #expect(typist.requests.isEmpty)
        }
    }

    @Test func `when the server is unreachable, then the session stays usable`() async throws {
        for features in [nil, ["oauth"]] {
            try await withBackend(.init(options: { $0.features = features })) { fixture in
                try await fixture.register(way(Typist()))
                await fixture.stopBackend()
                let restored = try await fixture.restore().restored
                guard restored.state == .unverified, let session = restored.session else {
                    _ = Issue.record("not unverified")
                    return
                }
                #expect(session.isOpen)
                #expect(try await session.accessToken().isValid(for: .seconds(60), at: fixture.clock.now))
                #expect(try await fixture.account().refreshStartedAt == nil)
            }
        }
    }

    @Test func `when a profile names another person, then login fails`() async throws {
        try await withBackend(.init(options: { $0.features = nil })) { fixture in
            try await fixture.register(way(Typist()))
            fixture.wire.answer("/api/profile", #"{"user":{"id":"b","username":"bob"}}"#)
            #expect(await failure { try await fixture.login() }?.code == .tokenInvalid)
            fixture.wire.answer("/api/profile", nil)
            try await fixture.login()
        }
    }

    @Test func `when paths and fields are set, then sign-in uses them`() async throws {
        try await withBackend(
            .init(
                options: {
                    $0.paths = .init(under: "/v9")
                    $0.features = nil
                },
                configure: {
                    $0.backend.server.info = "/v9/api/info"
                    $0.backend.server.apiToken = "/v9/api/auth"
                    $0.backend.server.profile = "/v9/api/profile"
                    $0.backend.server.applicationName = "Notes on paper"
                })
        ) { fixture in
            try await fixture.register(way(Typist()))
            #expect(fixture.wire.messages(to: "/v9/api/auth").last?.json["application"] == "Notes on paper")
            try await fixture.login()
        }
    }
}

/// A browser that remembers the pages that it was shown.
final class WatchedBrowser: UserAgent {
    private let person: ScriptedBrowser?
    private let log = Lock<[String]>([])

    /// - Parameter person: nil for nobody.
    init(_ person: ScriptedBrowser?) { self.person = person }

    var urls: [String] { log.withLock { $0 } }

    /// The `state` of the last address.
    var state: String {
        urls.last.flatMap { URLComponents(string: $0)?.queryItems?.first { $0.name == "state" }?.value } ?? ""
    }

    func open(_ url: String) async throws {
        log.withLock { $0.append(url) }
        try await person?.open(url)
    }
}
