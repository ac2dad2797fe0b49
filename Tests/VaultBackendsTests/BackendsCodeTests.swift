import CredentialVault
import Foundation
import Testing
import VaultDevelopment
import VaultTesting

/// The code of a second factor at a backend with passwords.
@Suite struct BackendsCodeTests {
    private func way(_ typist: Typist?, _ password: String = "alice-password") throws -> PasswordSignIn {
        try PasswordSignIn(email: "alice@example.com", password: SecretBytes(utf8: password), asking: typist)
    }

    @Test(arguments: ["123456", " 123 456\n"])
    func `when a backend wants a code, then somebody is asked`(typed: String) async throws {
        try await withBackend(.init(options: { $0.code = "123456" })) { fixture in
            let typist = Typist(code: typed)
            let token = try await fixture.vault.auth.signIn(way(typist))
            #expect(token.identity.email == "alice@example.com")
            let request = try #require(typist.codeRequests.first)
            #expect(request.server == fixture.backend.url && request.username == "alice@example.com")
            #expect(request.message == "Enter the code of your app." && typist.requests.isEmpty)
            #expect(
                fixture.wire.messages(to: "/auth/login").last?.json == [
                    "email": "alice@example.com", "password": "alice-password", "code": "123456",
                ])
        }
    }

    @Test func `when a backend wants no code, then nobody is asked`() async throws {
        try await withBackend { fixture in
            let typist = Typist(code: "123456")
            _ = try await fixture.vault.auth.signIn(way(typist))
            #expect(typist.codeRequests.isEmpty)
        }
    }

    @Test func `when the password is wrong, then no code is asked`() async throws {
        try await withBackend(.init(options: { $0.code = "123456" })) { fixture in
            let typist = Typist(code: "123456")
            let error = await failure { try await fixture.vault.auth.signIn(way(typist, "a wrong one")) }
            #expect(error?.code == .wrongSecret && error?.detail == nil)
            #expect(typist.codeRequests.isEmpty)
        }
    }

    @Test(arguments: ["654321", ""])
    func `when the code is wrong, then the attempt counts`(typed: String) async throws {
        try await withBackend(.init(options: { $0.code = "123456" })) { fixture in
            let error = await failure { try await fixture.vault.auth.signIn(way(Typist(code: typed))) }
            #expect(error?.code == .wrongSecret && error?.detail == .codeWrong)
            let early = await failure { try await fixture.vault.auth.signIn(way(Typist(code: "123456"))) }
            #expect(early?.code == .tooManyAttempts)
            fixture.clock.advance(by: 1)
            _ = try await fixture.vault.auth.signIn(way(Typist(code: "123456")))
        }
    }

    @Test func `when nobody can be asked, then the error says so`() async throws {
        try await withBackend(.init(options: { $0.code = "123456" })) { fixture in
            let error = await failure { try await fixture.vault.auth.signIn(way(nil)) }
            #expect(error?.code == .configurationInvalid && error?.description.contains("second factor") == true)
            fixture.clock.advance(by: 1)
            #expect(await failure { try await fixture.vault.auth.signIn(way(Typist())) }?.code == .cancelled)
        }
    }

    @Test func `when codes have their own call, then tickets follow`() async throws {
        try await withBackend(
            .init(configure: {
                var factor = BackendLayout.SecondFactor()
                factor.status = 200
                factor.field = "needs.code"
                factor.value = ""
                factor.path = "/auth/code"
                factor.code = "otp"
                factor.ticket = "login_ticket"
                $0.backend.password.secondFactor = factor
            })
        ) { fixture in
            fixture.wire.answer("/auth/login", #"{"needs":{"code":true},"loginTicket":"t-1"}"#)
            fixture.wire.answer("/auth/code", #"{"accessToken":"a","refreshToken":"r","userID":"u-1"}"#)
            let token = try await fixture.vault.auth.signIn(way(Typist(code: "123456")))
            #expect(token.account.subject == "u-1")
            #expect(
                fixture.wire.messages(to: "/auth/code").map(\.json) == [["loginTicket": "t-1", "otp": "123456"]])
            // An answer that says "false" asks for nothing.
            fixture.wire.answer(
                "/auth/login", #"{"needs":{"code":false},"accessToken":"a","refreshToken":"r","userID":"u-2"}"#)
            #expect(try await fixture.vault.auth.signIn(way(nil)).account.subject == "u-2")
        }
    }

    @Test func `when a backend repeats the code, then no error does`() async throws {
        try await withBackend(.init(options: { $0.code = "123456" })) { fixture in
            fixture.wire.answer("/auth/code", #"{"message":"123456 is too old"}"#, status: 422)
            let vault = try await fixture.anotherVault { $0.backend.password.secondFactor.path = "/auth/code" }
            let error = await failure { try await vault.auth.signIn(way(Typist(code: "123456"))) }
            #expect(error?.code == .configurationInvalid && error?.description.contains("123456") == false)
        }
    }
}
