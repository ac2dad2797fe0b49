import CredentialVault
import Foundation
import HTTPTypes
import Testing
import VaultDevelopment
import VaultTesting

/// The answers of backends with passwords, as their own documents describe them.
@Suite struct BackendsPasswordAnswersTests {
    private func way(_ email: String = "alice@example.com") throws -> PasswordSignIn {
        try PasswordSignIn(email: email, password: SecretBytes(utf8: "alice-password"))
    }

    private static let alice = DevelopmentIdentityProvider.User.alice
    /// `{"sub":"somebody else"}` as the claims of a token.
    private static let othersToken = "e30.eyJzdWIiOiJzb21lYm9keSBlbHNlIn0.e30"

    // MARK: - Names

    @Test(arguments: [(false, "refreshToken"), (true, "refresh_token")])
    func `when a backend spells names either way, then vault follows`(isSnake: Bool, name: String) async throws {
        try await withBackend(.init(options: { $0.usesSnakeCase = isSnake })) { fixture in
            let token = try await fixture.vault.auth.signIn(way())
            #expect(token.account.subject == Self.alice.subject)
            #expect(token.accessToken?.expiresAt == fixture.clock.now + 900)
            try await fixture.vault.storage.storeRefreshToken(
                token, withNewPassword: SecretBytes(utf8: BackendsFixture.password))
            let vault = try await fixture.login()
            #expect(fixture.wire.messages(to: "/auth/refresh").map { $0.json.keys.sorted() } == [[name]])
            #expect(try await vault.auth.logoutEverywhere() == nil)
            #expect(fixture.wire.messages(to: "/auth/logout").map { $0.json.keys.sorted() } == [[name]])
        }
    }

    @Test(
        arguments: [
            (#""expires_at":1800000060"#, 60), (#""expiresAt":"2027-01-15T08:02:00Z""#, 120),
            (#""expires_in":30,"expires_at":1800000060"#, 30), (#""expiresAt":"soon""#, nil),
        ] as [(String, Int?)])
    func `when an expiry is a time, then it applies`(field: String, seconds: Int?) async throws {
        try await withBackend { fixture in
            fixture.wire.answer(
                "/auth/login", #"{"accessToken":"x","refreshToken":"r","userID":"u-1",\#(field)}"#)
            let token = try await fixture.vault.auth.signIn(way())
            #expect(token.accessToken?.expiresAt == seconds.map { fixture.clock.now + Double($0) })
        }
    }

    @Test(arguments: [
        (#"{"token":"x","refreshToken":"r"}"#, "access token", "access_token"),
        (#"{"accessToken":"x"}"#, "refresh token", "refresh_token"),
        (#"{"accessToken":"x","refreshToken":"r","id":"of-the-session"}"#, "identifier", "user_id"),
    ])
    func `when an answer lacks a field, then the layout is wrong`(
        body: String, text: String, field: String
    ) async throws {
        try await withBackend { fixture in
            fixture.wire.answer("/auth/login", body)
            fixture.wire.answer("/auth/me", "", status: 404)
            let error = await failure { try await fixture.vault.auth.signIn(way()) }
            #expect(error?.code == .configurationInvalid && error?.detail == .fieldMissing && error?.value == field)
            #expect(error?.description.contains(text) == true && error?.description.contains("/auth/login") == true)
        }
    }

    // MARK: - The person

    @Test func `when only the login names the person, then accounts work`() async throws {
        try await withBackend(
            .init(options: {
                $0.issuesOpaqueTokens = true
                $0.loginPerson = .identifier
            })
        ) { fixture in
            fixture.wire.answer("/auth/me", "", status: 404)
            let session = try await fixture.register(way())
            #expect(session.id.subject == Self.alice.subject)
            // The typed address still names the account.
            #expect(try await fixture.vault.storage.account(userID: "alice@example.com").email == "alice@example.com")
            let vault = try await fixture.anotherVault()
            try await vault.auth.login(
                userID: "alice@example.com", password: SecretBytes(utf8: BackendsFixture.password))
            #expect(await failure { _ = try await vault.auth.userInfo() }?.code == .configurationInvalid)
        }
    }

    @Test(arguments: [
        (#""user":{"id":7,"email":"al@b.example"},"userID":"x""#, "7", "al@b.example"),
        (#""user":{"name":"Al"},"user_id":"u-1""#, "u-1", "alice@example.com"),
        (#""userId":"u-1","email":"al@b.example""#, "u-1", "al@b.example"),
        (#""user":{"username":"al"}"#, "al", "alice@example.com"),
    ])
    func `when a login answer names the person, then it counts`(
        members: String, subject: String, email: String
    ) async throws {
        try await withBackend { fixture in
            fixture.wire.answer("/auth/login", #"{"accessToken":"secret-a","refreshToken":"secret-r",\#(members)}"#)
            fixture.wire.answer("/auth/me", "", status: 404)
            let token = try await fixture.vault.auth.signIn(way())
            #expect(token.account.subject == subject && token.identity.email == email)
            #expect(!String(decoding: token.identity.claimsJSON, as: UTF8.self).contains("secret"))
        }
    }

    @Test func `when a user name was typed, then it is no address`() async throws {
        try await withBackend { fixture in
            fixture.wire.answer("/auth/login", #"{"accessToken":"a","refreshToken":"r","userID":"u-1"}"#)
            let identity = try await fixture.vault.auth.signIn(way("alice")).identity
            #expect(identity.email == nil && identity.preferredUsername == "alice")
        }
    }

    @Test func `when tokens have other identifiers, then renewals still work`() async throws {
        try await withBackend { fixture in
            let tokens = #""accessToken":"\#(Self.othersToken)","refreshToken":"r""#
            fixture.wire.answer("/auth/login", #"{\#(tokens),"userID":"u-1"}"#)
            fixture.wire.answer("/auth/refresh", "{\(tokens)}")
            fixture.wire.answer("/auth/me", "", status: 404)
            let session = try await fixture.register(way())
            #expect(session.id.subject == "u-1")
            #expect(try await session.accessToken(forceRefresh: true).value == Self.othersToken)
        }
    }

    @Test func `when tokens have other identifiers, then the backend decides`() async throws {
        try await withBackend { fixture in
            fixture.wire.answer(
                "/auth/login", #"{"accessToken":"\#(Self.othersToken)","refreshToken":"r","userID":"u-1"}"#)
            fixture.wire.answer("/auth/me", #"{"id":"u-2","username":"alice"}"#)
            let login = try await fixture.vault.auth.signIn(way())
            #expect(login.account.subject == "u-2")
        }
    }

    // MARK: - Words

    @Test(arguments: [
        #"{"error":"validation_error","message":"Confirm your address first.","field":"email"}"#,
        #"{"message":"Confirm your address first."}"#, #"{"error":"Confirm your address first."}"#,
        #"{"error":"x","error_description":"Confirm your address first."}"#,
    ])
    func `when a refusal has words, then they are shown`(body: String) async throws {
        try await withBackend { fixture in
            fixture.wire.answer("/auth/login", body, status: 403)
            let error = await failure { try await fixture.vault.auth.signIn(way()) }
            #expect(error?.description.contains(#""Confirm your address first.""#) == true)
        }
    }

    @Test(
        arguments: [
            (nil, "Try again in 15 minutes."), ("60", "Try again in 60 seconds."),
        ] as [(String?, String)])
    func `when attempts are limited, then the waiting time shows`(field: String?, text: String) async throws {
        try await withBackend { fixture in
            fixture.wire.answer(
                "/auth/login", #"{"error":"rate_limited","message":"Try again in 15 minutes."}"#, status: 429,
                fields: field.map { [.retryAfter: $0] } ?? [:])
            let error = await failure { try await fixture.vault.auth.signIn(way()) }
            #expect(error?.code == .tooManyAttempts && error?.description.contains(text) == true)
        }
    }

    @Test func `when refreshes are limited, then the waiting time shows`() async throws {
        try await withBackend(.init(options: { $0.maximumRefreshes = 1 })) { fixture in
            let session = try await fixture.register(way())
            _ = try await session.accessToken(forceRefresh: true)
            let error = await failure { _ = try await session.accessToken(forceRefresh: true) }
            #expect(error?.code == .identityProviderUnavailable)
            #expect(error?.description.contains("Try again in 15 minutes.") == true)
            #expect(session.isOpen)
            fixture.clock.advance(by: 901)
            _ = try await session.accessToken(forceRefresh: true)
        }
    }
}
