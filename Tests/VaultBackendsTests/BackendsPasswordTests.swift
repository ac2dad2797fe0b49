import CredentialVault
import Foundation
import HTTPTypes
import Testing
import VaultDevelopment
import VaultTesting

/// A backend with e-mail addresses, passwords and its own refresh tokens.
@Suite struct BackendsPasswordTests {
    private func way(
        _ password: String = "alice-password", email: String = "alice@example.com"
    ) throws -> PasswordSignIn {
        try PasswordSignIn(email: email, password: SecretBytes(utf8: password))
    }

    private func refreshes(_ fixture: BackendsFixture) async -> [BackendRequest] {
        await fixture.backend.requests.filter { $0.endpoint == .refresh }
    }

    @Test func `when a sign-in is stored, then the vault's password suffices`() async throws {
        try await withBackend { fixture in
            let token = try await fixture.vault.auth.signIn(way())
            let user = DevelopmentIdentityProvider.User.alice
            #expect(token.account == AccountID(issuer: fixture.backend.url, subject: user.subject))
            #expect(token.method == .passwordBackend)
            #expect(token.identity.email == user.email && token.identity.name == user.name)
            #expect(token.accessToken?.expiresAt == fixture.clock.now + 900)
            #expect(token.value != token.accessToken?.value && token.credential.isAccessToken == nil)
            #expect(await fixture.asked == [.login])
            try await fixture.vault.storage.storeRefreshToken(
                token, withNewPassword: SecretBytes(utf8: BackendsFixture.password))

            for generation in 1...3 {
                let vault = try await fixture.login()
                #expect(await refreshes(fixture).last?.presentedGeneration == generation)
                #expect(try await vault.auth.accessToken().isValid(for: .seconds(800), at: fixture.clock.now))
            }
            #expect(await refreshes(fixture).allSatisfy { $0.outcome == .ok })
            #expect(try await fixture.credential().value != token.value)
            #expect(fixture.wire.messages.allSatisfy { !$0.body.contains("verifier") })
        }
    }

    @Test func `when no lifetime is announced, then the token's expiry counts`() async throws {
        try await withBackend(.init(options: { $0.announcesLifetime = false })) { fixture in
            let session = try await fixture.register(way())
            #expect(try await session.accessToken().expiresAt == fixture.clock.now + 900)
            fixture.clock.advance(by: 850)
            #expect(try await session.accessToken().expiresAt == fixture.clock.now + 900)
            #expect(await refreshes(fixture).count == 1)
        }
    }

    // MARK: - What is typed

    @Test(
        arguments: [
            ("", "alice-password", "The user name is empty."), (" \t", "alice-password", "blanks"),
            ("alice@example.com", "", "The password is empty."), ("alice@example.com", " \u{3000}\n", "blanks"),
            ("alice@example.com", "12345", "at least 6"), ("alice@example.com", "éééé", "at least 6"),
        ])
    func `when typed credentials cannot be right, then nothing is sent`(
        email: String, password: String, text: String
    ) async throws {
        try await withBackend { fixture in
            let error = await failure { try await fixture.vault.auth.signIn(way(password, email: email)) }
            #expect(error?.code == .passwordUnusable)
            #expect(error?.description.contains(text) == true)
            #expect(await fixture.asked == [])
            #expect(fixture.wire.messages.isEmpty)
            // It does not count as an attempt.
            try await fixture.vault.auth.signIn(way())
        }
    }

    @Test func `when the minimum length is set, then shorter passwords fail`() async throws {
        try await withBackend(.init(configure: { $0.backend.password.minimumPasswordLength = 15 })) { fixture in
            #expect(await failure { try await fixture.vault.auth.signIn(way()) }?.code == .passwordUnusable)
            #expect(await fixture.asked == [])
        }
    }

    @Test func `when five passwords are wrong, then every program is locked`() async throws {
        let folder = FileManager.default.temporaryDirectory.path() + "vault-backends-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await withBackend(.init(store: SQLiteStore(folder: folder), options: { $0.maximumFailures = 100 })) {
            fixture in
            func attempt(_ password: String = "not the password") async throws -> VaultError? {
                let vault = try await fixture.anotherVault(store: SQLiteStore(folder: folder))
                return await failure { try await vault.auth.signIn(way(password)) }
            }
            for count in 1...5 {
                let error = try await attempt()
                #expect(error?.code == .wrongSecret)
                #expect(await fixture.asked.count == count)
                if count == 5 { break }
                let early = try await attempt("alice-password")
                #expect(early?.code == .tooManyAttempts)
                #expect(early?.retryAfter == .seconds(1))
                fixture.clock.advance(by: 1)
            }
            fixture.clock.advance(by: 29)
            let locked = try await attempt("alice-password")
            #expect(locked?.code == .tooManyAttempts)
            #expect(locked?.retryAfter == .seconds(1))
            #expect(await fixture.asked.count == 5)
            fixture.clock.advance(by: 1)
            #expect(try await attempt("alice-password") == nil)
            #expect(try await attempt("alice-password") == nil)
        }
    }

    @Test func `when the backend is unreachable, then no attempt is counted`() async throws {
        try await withBackend { fixture in
            for _ in 1...7 {
                fixture.wire.fail("/auth/login", .notConnected)
                #expect(
                    await failure { try await fixture.vault.auth.signIn(way()) }?.code == .identityProviderUnavailable)
                fixture.wire.fail("/auth/login", nil)
                fixture.clock.advance(by: 1)
            }
            try await fixture.vault.auth.signIn(way())
        }
    }

    @Test func `when a backend limits attempts, then the pause is reported`() async throws {
        try await withBackend(
            .init(options: {
                $0.maximumFailures = 2
                $0.lockDuration = 45
            })
        ) { fixture in
            for _ in 1...2 {
                #expect(await failure { try await fixture.vault.auth.signIn(way("wrong one")) }?.code == .wrongSecret)
                fixture.clock.advance(by: 1)
            }
            let error = await failure { try await fixture.vault.auth.signIn(way()) }
            #expect(error?.code == .tooManyAttempts)
            #expect(error?.retryAfter == .seconds(44))
            #expect(error?.description.contains("44 seconds") == true)
            fixture.clock.advance(by: 44)
            try await fixture.vault.auth.signIn(way())
        }
    }

    @Test(
        arguments: [
            ("120", 120), ("Fri, 15 Jan 2027 08:01:30 GMT", 90), ("Thu, 14 Jan 2027 08:00:00 GMT", 0), ("soon", nil),
            ("-5", nil), ("99999999999", 86_400), (nil, nil),
        ] as [(String?, Int?)])
    func `when Retry-After is a number or date, then it applies`(field: String?, seconds: Int?) async throws {
        try await withBackend { fixture in
            fixture.wire.answer("/auth/login", "", status: 429, fields: field.map { [.retryAfter: $0] } ?? [:])
            let error = await failure { try await fixture.vault.auth.signIn(way()) }
            #expect(error?.code == .tooManyAttempts)
            #expect(error?.retryAfter == seconds.map { .seconds($0) })
        }
    }

    @Test func `when the backend refuses sign-in, then its words are shown`() async throws {
        try await withBackend { fixture in
            fixture.wire.answer("/auth/login", #"{"error":"Confirm your address first."}"#, status: 403)
            let error = await failure { try await fixture.vault.auth.signIn(way()) }
            #expect(error?.code == .configurationInvalid)
            #expect(error?.description.contains("Confirm your address first.") == true)
        }
    }

    // MARK: - Whose it is

    @Test(arguments: [true, false])
    func `when no profile exists, then the token names the person`(isSetting: Bool) async throws {
        try await withBackend(
            .init(
                options: { $0.loginPerson = .nothing },
                configure: { if isSetting { $0.backend.password.me = "" } })
        ) { fixture in
            if !isSetting { fixture.wire.answer("/auth/me", "", status: 404) }
            let token = try await fixture.vault.auth.signIn(way())
            #expect(token.account.subject == DevelopmentIdentityProvider.User.alice.subject)
            #expect(token.identity.email == "alice@example.com")
            #expect(await fixture.asked == [.login])
            try await fixture.vault.storage.storeRefreshToken(
                token, withNewPassword: SecretBytes(utf8: BackendsFixture.password))
            try await fixture.vault.auth.logout()
            let vault = try await fixture.anotherVault()
            try await vault.auth.login(
                userID: "alice@example.com", password: SecretBytes(utf8: BackendsFixture.password))
        }
    }

    @Test func `when a token names no person, then sign-in fails`() async throws {
        try await withBackend(.init(configure: { $0.backend.password.me = "" })) { fixture in
            for token in ["opaque", "a.b.c", "e30.e30.e30"] {
                fixture.wire.answer("/auth/login", #"{"access_token":"\#(token)","refresh_token":"r"}"#)
                let error = await failure { try await fixture.vault.auth.signIn(way()) }
                #expect(error?.code == .configurationInvalid && error?.detail == .fieldMissing)
                fixture.clock.advance(by: 1)
            }
            #expect(!fixture.vault.auth.isLoggedIn)
        }
    }

    /// `{"sub":"somebody else"}` as the claims of a token.
    private static let othersToken = "e30.eyJzdWIiOiJzb21lYm9keSBlbHNlIn0.e30"

    @Test func `when another person's tokens arrive, then the stored token stays`() async throws {
        try await withBackend(.init(configure: { $0.backend.password.me = "" })) { fixture in
            let session = try await fixture.register(way())
            let before = try await fixture.store.item(.refreshToken, of: session.id)
            fixture.wire.answer("/auth/refresh", #"{"access_token":"\#(Self.othersToken)","refresh_token":"theirs"}"#)
            #expect(await failure { _ = try await session.accessToken(forceRefresh: true) }?.code == .tokenInvalid)
            #expect(try await fixture.store.item(.refreshToken, of: session.id) == before)
        }
    }

    @Test func `when tokens name another subject, then the backend is asked`() async throws {
        try await withBackend { fixture in
            let session = try await fixture.register(way())
            fixture.wire.answer("/auth/refresh", #"{"access_token":"\#(Self.othersToken)","refresh_token":"r"}"#)
            fixture.wire.answer("/auth/me", #"{"id":"\#(session.id.subject)"}"#)
            #expect(try await session.accessToken(forceRefresh: true).value == Self.othersToken)
            fixture.wire.answer("/auth/me", #"{"id":"bob"}"#)
            #expect(await failure { _ = try await session.accessToken(forceRefresh: true) }?.code == .tokenInvalid)
            // If the backend cannot be asked, the new refresh token is stored, and nobody gets the access token.
            fixture.wire.answer("/auth/me", "", status: 503)
            fixture.wire.answer("/auth/refresh", #"{"access_token":"\#(Self.othersToken)","refresh_token":"r2"}"#)
            let error = await failure { _ = try await session.accessToken(forceRefresh: true) }
            #expect(error?.code == .identityProviderUnavailable)
            #expect(try await fixture.credential().value == "r2")
            #expect(session.isOpen)
        }
    }

    // MARK: - Rotation

    @Test func `when a refresh answer is lost, then login reports interruption`() async throws {
        try await withBackend { fixture in
            let session = try await fixture.register(way())
            let before = try await fixture.sealedCredential()
            await fixture.backend.setFault(.swallowAnswerAfterProcessing, times: 1, at: .refresh)
            let first = await failure { _ = try await session.accessToken(forceRefresh: true) }
            #expect(first?.code == .identityProviderInterrupted)
            #expect(try await fixture.account().refreshStartedAt == fixture.clock.now)
            #expect(await refreshes(fixture).count == 1)
            let error = await failure { try await fixture.login() }
            #expect(error?.code == .refreshInterrupted)
            #expect(try await fixture.sealedCredential() == before)
            // Signing in again repairs the account. The password stays the same.
            fixture.clock.advance(by: 1)
            try await fixture.vault.storage.storeRefreshToken(
                fixture.vault.auth.signIn(way()), withExistingPassword: SecretBytes(utf8: BackendsFixture.password))
            try await fixture.login()
        }
    }

    @Test func `when answers are faulty, then their refresh token is stored`() async throws {
        try await withBackend { fixture in
            let session = try await fixture.register(way())
            for (index, rest) in [#""expires_in":1"#, #""access_token":"x","token_type":"mac""#].enumerated() {
                fixture.wire.answer("/auth/refresh", #"{"refresh_token":"new-\#(index)",\#(rest)}"#)
                #expect(await failure { _ = try await session.accessToken(forceRefresh: true) } != nil)
                #expect(try await fixture.credential().value == "new-\(index)")
            }
            #expect(session.isOpen)
        }
    }

    @Test func `when no refresh token arrives, then the old one stays`() async throws {
        try await withBackend { fixture in
            let session = try await fixture.register(way())
            let before = try await fixture.credential().value
            fixture.wire.answer("/auth/refresh", #"{"access_token":"x","expires_in":900}"#)
            #expect(try await session.accessToken(forceRefresh: true).value == "x")
            #expect(try await fixture.credential().value == before)
        }
    }

    @Test(
        arguments: [
            (401, "", VaultError.Code.refreshTokenExpired), (403, "", .configurationInvalid),
            (401, "<html>Log in to the proxy.</html>", .refreshTokenExpired), (400, "", .refreshTokenExpired),
            (404, #"{"error":"No such token."}"#, .refreshTokenExpired), (404, "", .configurationInvalid),
            (404, "<html>No such page.</html>", .configurationInvalid),
            (404, #"{"message":"no such route"}"#, .configurationInvalid),
            (400, #"{"error":"invalid_grant"}"#, .refreshTokenExpired),
            (401, #"{"error":"invalid_grant","message":"The token has ended."}"#, .refreshTokenExpired),
            (400, #"{"error":"invalid_request"}"#, .configurationInvalid), (422, "", .configurationInvalid),
            (429, "", .identityProviderUnavailable),
            (200, "<html>", .identityProviderAnswerInvalid),
            (200, #"{"error":"Later."}"#, .identityProviderAnswerInvalid),
        ])
    func `when refreshes fail, then only a refusal ends the session`(
        status: Int, body: String, code: VaultError.Code
    ) async throws {
        try await withBackend { fixture in
            let session = try await fixture.register(way())
            fixture.wire.answer("/auth/refresh", body, status: status)
            #expect(await failure { _ = try await session.accessToken(forceRefresh: true) }?.code == code)
            #expect((session.refusal == nil) == (code != .refreshTokenExpired))
            // Only an answer that cannot be understood leaves the fate of the refresh token unknown.
            let isUnknown = status == 200
            let account = try await fixture.account()
            #expect((account.refreshStartedAt != nil) == isUnknown)
            // A proxy in front of the backend may have sent any other refusal.
            #expect((account.refusedAt != nil) == body.contains("invalid_grant"))
            #expect(try await fixture.store.item(.refreshToken, of: account.id) != nil)
            fixture.wire.answer("/auth/refresh", nil)
            try await fixture.login()
            #expect(try await fixture.account().refusedAt == nil)
        }
    }

    @Test(
        arguments: [
            (401, #"{"error":"unauthorized","message":"The refresh token has expired."}"#, [:], true),
            (
                401, #"{"error":"token_expired","message":"Log in again."}"#,
                [.wwwAuthenticate: #"Bearer realm="app""#], true
            ),
            // A proxy may have asked for its own login, or a gateway for an access token.
            (
                401, #"{"error":"unauthorized","message":"Log in."}"#, [.wwwAuthenticate: #"Basic realm="proxy""#],
                false
            ),
            (401, #"{"message":"Unauthorized"}"#, [:], false), (401, #"{"error":"unauthorized"}"#, [:], false),
            (401, #"{"error":"Unauthorized","message":""}"#, [:], false),
            (401, "", [.wwwAuthenticate: "Bearer"], false),
            // These are about the client, the request, the person, the address, or nothing that stays.
            (401, #"{"error":"invalid_client","message":"Unknown app."}"#, [:], false),
            (400, #"{"error":"validation_error","message":"refreshToken is missing."}"#, [:], false),
            (403, #"{"error":"forbidden","message":"Confirm your address first."}"#, [:], false),
            (404, #"{"error":"not_found","message":"No such route."}"#, [:], false),
            (429, #"{"error":"too_many_requests"}"#, [:], false), (503, #"{"error":"unavailable"}"#, [:], false),
        ] as [(Int, String, HTTPFields, Bool)])
    func `when refreshes are refused, then only certain ends are noted`(
        status: Int, body: String, fields: HTTPFields, isNoted: Bool
    ) async throws {
        try await withBackend { fixture in
            let session = try await fixture.register(way())
            fixture.wire.answer("/auth/refresh", body, status: status, fields: fields)
            #expect(await failure { _ = try await session.accessToken(forceRefresh: true) } != nil)
            let account = try await fixture.account()
            #expect(account.refusedAt == (isNoted ? fixture.clock.now : nil))
            #expect(try await fixture.store.item(.refreshToken, of: account.id) != nil)
            let restored = try await fixture.anotherVault().auth.restoreSession(userID: "alice")
            #expect(restored.state == (isNoted ? .expired : .locked))
        }
    }

    @Test func `when the backend is unreachable, then the session stays usable`() async throws {
        try await withBackend { fixture in
            try await fixture.register(way())
            await fixture.stopBackend()
            let restored = try await fixture.restore().restored
            guard restored.state == .unverified, let session = restored.session, let error = restored.error else {
                _ = Issue.record("not unverified")
                return
            }
            #expect(error.code == .identityProviderUnavailable)
            #expect(try await session.accessToken().isValid(for: .seconds(60), at: fixture.clock.now))
            #expect(try await fixture.account().refreshStartedAt == nil)
        }
    }

    @Test func `when twenty requests meet 401, then one refresh happens`() async throws {
        try await withBackend { fixture in
            try await fixture.register(way())
            await fixture.backend.invalidateAccessTokens()
            let api = try fixture.vault.auth.authorizedTransport(for: [fixture.backend.url])
            let port = "127.0.0.1:\(fixture.backend.port)"
            let request = HTTPRequest(method: .get, scheme: "http", authority: port, path: "/api/items")
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 1...20 {
                    group.addTask { try await api.send(request, body: [], limits: HTTPLimits()).status.code }
                }
                for try await status in group { #expect(status == 200) }
            }
            #expect(await refreshes(fixture).map(\.outcome) == [.ok])
        }
    }

    @Test func `when a refresh token's week is over, then login fails`() async throws {
        try await withBackend { fixture in
            try await fixture.register(way())
            fixture.clock.advance(by: 7 * 86_400 - 1)
            try await fixture.login()
            fixture.clock.advance(by: 7 * 86_400)
            #expect(await failure { try await fixture.login() }?.code == .refreshTokenExpired)
        }
    }

    @Test func `when a backend echoes secrets, then no error quotes them`() async throws {
        try await withBackend { fixture in
            fixture.wire.answer("/auth/login", #"{"error":"\"é-password is not right"}"#, status: 422)
            let error = try #require(await failure { try await fixture.vault.auth.signIn(way("\"é-password")) })
            #expect(error.code == .configurationInvalid && !error.description.contains("password is not"))
            fixture.wire.answer("/auth/login", nil)
            fixture.clock.advance(by: 1)
            let session = try await fixture.register(way())
            let token = try await fixture.credential().value
            fixture.wire.answer(
                "/auth/refresh", #"{"error":"no_\#(token)","error_description":"\#(token)?"}"#, status: 422)
            let refused = try #require(await failure { _ = try await session.accessToken(forceRefresh: true) })
            #expect(!refused.description.contains(token) && !"\(refused)".contains(token))
        }
    }

    @Test func `when an expiry is in milliseconds, then it is ignored`() async throws {
        try await withBackend { fixture in
            // {"sub":"alice","exp":1800000900000}
            let token = "e30.eyJzdWIiOiJhbGljZSIsImV4cCI6MTgwMDAwMDkwMDAwMH0.e30"
            fixture.wire.answer("/auth/login", #"{"access_token":"\#(token)","refresh_token":"r"}"#)
            fixture.wire.answer("/auth/me", #"{"id":"alice"}"#)
            #expect(try await fixture.vault.auth.signIn(way()).accessToken?.expiresAt == nil)
            try await fixture.vault.auth.logout()
        }
    }

    @Test func `when credentials and tokens are printed, then no secret shows`() async throws {
        try await withBackend { fixture in
            let way = try way("a secret password")
            let wrong = try #require(await failure { try await fixture.vault.auth.signIn(way) })
            fixture.clock.advance(by: 1)
            let token = try await fixture.vault.auth.signIn(self.way())
            let typed = UserCredentials(username: "alice", password: SharedSecret(try SecretBytes(utf8: "secret")))
            var text = ""
            dump(way, to: &text)
            dump(wrong, to: &text)
            dump(token, to: &text)
            dump(typed, to: &text)
            text += "\(way) \(wrong) \(token) \(typed)"
            for secret in ["secret", token.value, token.accessToken?.value ?? "?"] { #expect(!text.contains(secret)) }
        }
    }
}
