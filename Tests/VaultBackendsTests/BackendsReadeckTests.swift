import CredentialVault
import Foundation
import Testing
import VaultBase
import VaultDevelopment
import VaultTesting

/// Signing in at Readeck with its published rules: 0.22, and the versions before OAuth.
@Suite struct BackendsReadeckTests {
    private static let scope = "bookmarks:read bookmarks:write profile:read"

    private func way(_ typist: Typist? = nil, using userAgent: any UserAgent = BackendsFixture.alice) -> ServerSignIn {
        ServerSignIn(using: userAgent, asking: typist)
    }

    // MARK: - OAuth

    @Test func `when Readeck has OAuth, then every sign-in works`() async throws {
        try await withBackend(.readeck()) { fixture in
            let typist = Typist()
            var clients: Set<String> = []
            for _ in 1...3 {
                let token = try await fixture.vault.auth.signIn(way(typist))
                #expect(token.method == .serverOAuth && token.scope == Self.scope)
                #expect(token.account == AccountID(issuer: fixture.backend.url, subject: "alice"))
                #expect(token.identity.email == "alice@example.com")
                clients.insert(token.clientID)
            }
            #expect(clients.count == 3 && typist.requests.isEmpty)
            let sent = try #require(fixture.wire.messages(to: "/api/oauth/client").first?.body)
            let request = try #require(JSONValue(objectIn: Array(sent.utf8)))
            #expect(request["grant_types"]?.strings == ["authorization_code"])
            #expect(request["client_uri"]?.string == "https://apps.example.com/reader")
            try await fixture.register(way())
            try await fixture.login()
        }
    }

    @Test func `when no page is set, then Readeck's refusal names it`() async throws {
        try await withBackend(.readeck(page: nil)) { fixture in
            let typist = Typist()
            let ways: [any SignIn] = [way(typist), ServerDeviceSignIn { _ in }]
            for way in ways {
                let error = await failure { try await fixture.vault.auth.signIn(way) }
                #expect(error?.code == .configurationInvalid && error?.detail == .clientPageMissing)
            }
            #expect(typist.requests.isEmpty)
            // No address that is not the app's own was sent.
            let sent = fixture.wire.messages(to: "/api/oauth/client").map(\.body)
            #expect(sent.count == 2 && !sent.contains { $0.contains("client_uri") })
        }
    }

    @Test func `when the page is set later, then an account switches`() async throws {
        try await withBackend(.readeck(page: nil, options: { $0.features = ["email"] })) { fixture in
            try await fixture.register(way(Typist()))
            await fixture.backend.setFeatures(["oauth", "email"])
            let vault = try await fixture.anotherVault {
                $0.backend.server.clientDetails["client_uri"] = "https://apps.example.com/reader"
            }
            try await vault.auth.switchMethod(
                userID: "alice", password: SecretBytes(utf8: BackendsFixture.password), to: way())
            #expect(try await fixture.account().method == .serverOAuth)
        }
    }

    @Test func `when the person refuses at Readeck, then sign-in is cancelled`() async throws {
        try await withBackend(.readeck()) { fixture in
            let typist = Typist()
            let denying = ScriptedBrowser(username: "alice", password: "", choice: .deny)
            let error = await failure { try await fixture.vault.auth.signIn(way(typist, using: denying)) }
            #expect(error?.code == .cancelled)
            #expect(typist.requests.isEmpty)
            try await fixture.vault.auth.signIn(way(typist))
        }
    }

    @Test func `when settings name scopes, then only these are asked`() async throws {
        try await withBackend(.readeck(configure: { $0.scopes = ["bookmarks:read"] })) { fixture in
            let token = try await fixture.vault.auth.signIn(way())
            #expect(token.scope == "bookmarks:read")
            // Without the right to see the profile there is no e-mail address.
            #expect(token.identity.email == nil && token.identity.preferredUsername == "alice")
        }
    }

    @Test func `when Readeck is below a path, then sign-in works`() async throws {
        try await withBackend(
            .readeck(
                options: { $0.paths = .init(under: "/readeck") },
                configure: { $0.issuer = ($0.issuer ?? "") + "/readeck" })
        ) { fixture in
            let session = try await fixture.register(way())
            #expect(session.id.issuer == fixture.backend.url + "/readeck")
            #expect(try await fixture.vault.auth.logoutEverywhere() == nil)
        }
    }

    @Test func `when a login ends everywhere, then its token ends itself`() async throws {
        try await withBackend(.readeck()) { fixture in
            let session = try await fixture.register(way())
            let token = try await session.accessToken().value
            #expect(try await fixture.vault.auth.logoutEverywhere() == nil)
            let last = try #require(fixture.wire.messages(to: "/api/oauth/revoke").last)
            #expect(last.authorization == "Bearer \(token)" && last.body.contains("token=\(token)"))
            #expect(await fixture.backend.requests.last?.outcome == .ok)
        }
        // A token that the server no longer knows has ended, too.
        try await withBackend(.readeck()) { fixture in
            try await fixture.register(way())
            await fixture.backend.endAllSessions()
            #expect(try await fixture.vault.auth.logoutEverywhere() == nil)
        }
    }

    @Test func `when OAuth fails at Readeck, then no password is asked`() async throws {
        try await withBackend(.readeck()) { fixture in
            let typist = Typist()
            await fixture.backend.setFault(.status(500), times: 1, at: .oauthToken)
            let error = await failure { try await fixture.vault.auth.signIn(way(typist)) }
            #expect(error?.code == .identityProviderUnavailable && error?.detail == .apiTokenFromPage)
            #expect(error?.description.contains("Signing in with OAuth did not work") == true)
            let chosen = ServerSignIn(using: BackendsFixture.alice, asking: typist, choosing: .apiToken)
            let refused = await failure { try await fixture.vault.auth.signIn(chosen) }
            #expect(refused?.code == .configurationInvalid && refused?.detail == .apiTokenFromPage)
            #expect(typist.requests.isEmpty)
        }
    }

    // MARK: - With a code on another device

    @Test func `when a code is typed at Readeck, then sign-in works`() async throws {
        try await withBackend(.readeck(options: { $0.devicePollingInterval = 1 })) { fixture in
            let token = try await fixture.vault.auth.signIn(
                ServerDeviceSignIn { device in
                    _ = try await BackendsFixture.alice.visit(device.verificationURI, userCode: device.userCode)
                })
            #expect(token.method == .serverOAuth && token.account.subject == "alice" && token.scope == Self.scope)
            let denying = ScriptedBrowser(username: "alice", password: "", choice: .deny)
            let error = await failure {
                try await fixture.vault.auth.signIn(
                    ServerDeviceSignIn { device in
                        _ = try await denying.visit(device.verificationURIComplete ?? "")
                    })
            }
            #expect(error?.code == .cancelled)
        }
    }

    @Test func `when a server lacks OAuth, then it gives no code`() async throws {
        try await withBackend(.readeck(options: { $0.features = nil })) { fixture in
            let error = await failure { try await fixture.vault.auth.signIn(ServerDeviceSignIn { _ in }) }
            #expect(error?.code == .configurationInvalid)
            #expect(await fixture.asked == [.info])
        }
    }

    @Test func `when a layout reads the whole profile, then provider shows`() async throws {
        // As in SigningIn.md.
        let json = #"""
            {"server": {"user": {"object": "", "id": "user.id", "alternativeID": "user.username",
                                 "username": "user.username", "email": "user.email"}}}
            """#
        let layout = try JSONDecoder().decode(BackendLayout.self, from: Data(json.utf8))
        try await withBackend(.readeck(configure: { $0.backend = layout })) { fixture in
            fixture.wire.answer(
                "/api/profile",
                #"{"provider":{"permissions":["profile:read"]},"user":{"username":"alice","email":"a@example.com"}}"#)
            try await fixture.register(way())
            #expect(try await fixture.account().id.subject == "alice")
            let info = try await fixture.login().auth.userInfo()
            #expect(String(decoding: info.claimsJSON, as: UTF8.self).contains("profile:read"))
        }
    }

    // MARK: - API tokens

    @Test func `when Readeck is before OAuth, then a password signs in`() async throws {
        try await withBackend(.readeck(options: { $0.features = ["email"] })) { fixture in
            #expect(
                await failure { try await fixture.vault.auth.signIn(way(Typist("alice", "no"))) }?.code == .wrongSecret)
            fixture.clock.advance(by: 1)
            try await fixture.register(way(Typist()))
            #expect(try await fixture.account().method == .serverToken)
            // The token outlives an update of the server, and OAuth takes its place then.
            await fixture.backend.setFeatures(["oauth", "email"])
            let vault = try await fixture.login()
            try await vault.auth.switchMethod(
                userID: "alice", password: SecretBytes(utf8: BackendsFixture.password), to: way())
            #expect(try await fixture.account().method == .serverOAuth)
        }
    }

    @Test func `when a server says nothing, then the person is warned`() async throws {
        try await withBackend(
            .readeck(options: {
                $0.hasInfo = false
                $0.features = nil
            })
        ) { fixture in
            let typist = Typist()
            let token = try await fixture.vault.auth.signIn(way(typist))
            #expect(token.method == .serverToken)
            #expect(typist.requests.map(\.reason) == [.noInformation])
            #expect(typist.requests.first?.description.contains("check the address") == true)
            // At a wrong address there is no call for API tokens, either.
            fixture.wire.answer("/api/auth", "", status: 404)
            let error = await failure { try await fixture.vault.auth.signIn(way(typist)) }
            #expect(error?.code == .configurationInvalid && error?.detail == .addressWrong)
            #expect(error?.description.contains("Check the address") == true)
            #expect(typist.requests.count == 1)
        }
    }

    @Test func `when a layout has no information, then OAuth is off`() async throws {
        try await withBackend(
            .readeck(options: { $0.features = nil }, configure: { $0.backend.server.info = "" })
        ) { fixture in
            let typist = Typist()
            try await fixture.vault.auth.signIn(way(typist))
            #expect(typist.requests.map(\.reason) == [.noOAuth])
            #expect(await !fixture.asked.contains(.info))
        }
    }

    @Test func `when a page gave the token, then it signs in`() async throws {
        try await withBackend(.readeck()) { fixture in
            let page = try await BackendsFixture.alice.visit(fixture.backend.url + fixture.backend.paths.apiTokenPage)
            let token = String(try #require(page.body.firstMatch(of: /<p class="lead">([^<]+)</)).output.1)
            try await fixture.register(APITokenSignIn(token: SecretBytes(utf8: " \(token)\n")))
            let account = try await fixture.account()
            #expect(account.method == .serverToken && account.id.subject == "alice")
            #expect(account.email == "alice@example.com")
            #expect(try await fixture.credential().value == token)
            #expect(await fixture.asked.last == .profile)
            try await fixture.login()
        }
    }

    @Test(arguments: [
        ("not a token", VaultError.Code.passwordUnusable, 0), (" \n", .passwordUnusable, 0),
        ("nötig", .passwordUnusable, 0), ("no-token", .wrongSecret, 1),
    ])
    func `when the pasted text is no token, then sign-in fails`(
        text: String, code: VaultError.Code, requests: Int
    ) async throws {
        try await withBackend(.readeck()) { fixture in
            let way = try APITokenSignIn(token: SecretBytes(utf8: text))
            let error = await failure { try await fixture.vault.auth.signIn(way) }
            #expect(error?.code == code)
            #expect(fixture.wire.messages.count == requests)
            #expect(error?.description.contains(text) == false)
        }
    }

    // MARK: - Without a sign-in

    @Test func `when a server is asked, then its abilities are known`() async throws {
        try await withBackend(.readeck()) { fixture in
            func read() async throws -> ServerInformation? {
                try await ServerInformation.read(from: fixture.backend.url, transport: fixture.wire)
            }
            let new = try #require(try await read())
            #expect(new.hasOAuth && new.version == "1.4.2")
            await fixture.backend.setFeatures(nil)
            #expect(try await read()?.hasOAuth == false)
            fixture.wire.answer("/api/info", "", status: 404)
            #expect(try await read() == nil)
            fixture.wire.answer("/api/info", "<html>")
            #expect(await failure { _ = try await read() }?.code == .identityProviderAnswerInvalid)
        }
    }
}

extension BackendsArrangement {
    /// A server with Readeck's rules, and a vault with the usual scopes.
    ///
    /// - Parameter page: the page about the app; nil for none.
    fileprivate static func readeck(
        page: String? = "https://apps.example.com/reader",
        options: @escaping (inout DevelopmentBackend.Options) -> Void = { _ in },
        configure: @escaping (inout VaultConfiguration) -> Void = { _ in }
    ) -> BackendsArrangement {
        BackendsArrangement(
            options: {
                $0.isLenient = false
                options(&$0)
            },
            configure: {
                $0.scopes = VaultConfiguration.standardScopes
                configure(&$0)
                $0.backend.server.clientDetails["client_uri"] = page
            })
    }
}
