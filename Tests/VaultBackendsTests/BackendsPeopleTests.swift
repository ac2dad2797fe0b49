import CredentialVault
import Foundation
import HTTPTypes
import Testing
import VaultDevelopment
import VaultTesting

/// The services of a backend for people, besides sign-in.
@Suite struct BackendsPeopleTests {
    private func people(
        _ fixture: BackendsFixture, _ change: (inout BackendLayout.Password) -> Void = { _ in }
    ) throws -> BackendPeople {
        var layout = BackendLayout.Password()
        layout.signUp = "/auth/sign-up"
        layout.forgotPassword = "/auth/forgot-password"
        change(&layout)
        return try BackendPeople(fixture.backend.url, layout: layout, transport: fixture.wire, clock: fixture.clock)
    }

    private func credentials(_ email: String, _ password: String) throws -> UserCredentials {
        UserCredentials(username: email, password: SharedSecret(try SecretBytes(utf8: password)))
    }

    // MARK: - Signing up

    @Test func `when a person signs up, then sign-in works`() async throws {
        try await withBackend { fixture in
            try await people(fixture).signUp(credentials("eve@example.com", "eves password"), name: "Eve")
            #expect(
                fixture.wire.messages.last?.json
                    == ["email": "eve@example.com", "password": "eves password", "fullName": "Eve"])
            #expect(!fixture.vault.auth.isLoggedIn)
            let token = try await fixture.vault.auth.signIn(
                PasswordSignIn(email: "eve@example.com", password: SecretBytes(utf8: "eves password")))
            #expect(token.identity.email == "eve@example.com" && token.identity.name == "Eve")
        }
    }

    @Test func `when the layout adds sign-up members, then they are sent`() async throws {
        try await withBackend(.init(options: { $0.wantsConfirmation = true })) { fixture in
            let eve = try credentials("eve@example.com", "eves password")
            let error = await failure { try await people(fixture).signUp(eve) }
            #expect(error?.description.contains("The two passwords are not the same.") == true)
            let details = ["confirmPassword": "{password}", "consent.terms": "yes", "nickname": "{name}"]
            try await people(fixture) { $0.signUpDetails = details }.signUp(eve)
            let body = try #require(fixture.wire.messages.last?.body)
            #expect(
                body.contains(#""confirmPassword":"eves password""#) && body.contains(#""consent":{"terms":"yes"}"#))
            #expect(!body.contains("nickname"))
        }
    }

    @Test func `when a sign-up is refused, then the backend's words show`() async throws {
        try await withBackend { fixture in
            let error = await failure {
                try await people(fixture).signUp(credentials("alice@example.com", "another password"))
            }
            #expect(error?.code == .configurationInvalid)
            #expect(error?.description.contains("There is an account with this address.") == true)
        }
    }

    @Test(arguments: [
        ("", "long enough"), ("  ", "long enough"), ("eve@example.com", ""), ("eve@example.com", "short"),
    ])
    func `when typed credentials cannot be right, then nothing is sent`(email: String, password: String) async throws {
        try await withBackend { fixture in
            let typed = try credentials(email, password)
            #expect(await failure { try await people(fixture).signUp(typed) }?.code == .passwordUnusable)
            #expect(fixture.wire.messages.isEmpty)
            let error = #expect(throws: VaultError.self) { try BackendLayout.Password().check(typed) }
            #expect(error?.code == .passwordUnusable)
        }
        #expect(throws: Never.self) { try BackendLayout.Password().check(credentials("eve@example.com", "123456")) }
        #expect(throws: Never.self) { try credentials("eve", "1").check() }
    }

    @Test func `when the backend repeats passwords, then no error quotes them`() async throws {
        try await withBackend { fixture in
            fixture.wire.answer("/auth/sign-up", #"{"error":"eves password is too simple"}"#, status: 422)
            let error = await failure {
                try await people(fixture).signUp(credentials("eve@example.com", "eves password"))
            }
            #expect(error?.code == .configurationInvalid)
            #expect(error?.description.contains("eves password") == false)
        }
    }

    @Test func `when a backend limits requests, then the pause is reported`() async throws {
        try await withBackend { fixture in
            for path in ["/auth/sign-up", "/auth/forgot-password"] {
                fixture.wire.answer(path, "", status: 429, fields: [.retryAfter: "7"])
            }
            let signUp = await failure {
                try await people(fixture).signUp(credentials("eve@example.com", "long enough"))
            }
            let forgotten = await failure { try await people(fixture).requestNewPassword(email: "eve@example.com") }
            for error in [signUp, forgotten] {
                #expect(error?.code == .tooManyAttempts && error?.retryAfter == .seconds(7))
            }
        }
    }

    // MARK: - A forgotten password

    @Test func `when a password is forgotten, then one request is sent`() async throws {
        try await withBackend { fixture in
            for email in ["alice@example.com", "nobody@example.com"] {
                try await people(fixture).requestNewPassword(email: email)
            }
            #expect(await fixture.asked == [.forgotPassword, .forgotPassword])
            #expect(fixture.wire.messages.map(\.json).first == ["email": "alice@example.com"])
            #expect(
                await failure { try await people(fixture).requestNewPassword(email: " ") }?.code == .passwordUnusable)
        }
    }

    @Test(arguments: [nil, ""])
    func `when a path is missing, then no call is made`(path: String?) async throws {
        try await withBackend { fixture in
            let none = try people(fixture) {
                $0.signUp = path
                $0.forgotPassword = path
            }
            for error in [
                await failure { try await none.signUp(credentials("eve@example.com", "long enough")) },
                await failure { try await none.requestNewPassword(email: "eve@example.com") },
            ] {
                #expect(error?.code == .configurationInvalid)
                #expect(error?.description.contains("backend file") == true)
            }
            #expect(fixture.wire.messages.isEmpty)
        }
    }
}
