import CredentialVault
import HTTPTypes
import Testing
import VaultDevelopment

/// The findings of `doctor` about a backend.
@Suite struct BackendCheckTests {
    private func check(
        _ fixture: BackendsFixture, _ kind: BackendCheck.Kind, layout: BackendLayout = .init()
    ) throws -> BackendCheck {
        try BackendCheck(fixture.backend.url, as: kind, layout: layout, transport: fixture.wire)
    }

    @Test(arguments: [BackendCheck.Kind.browser, .password, .server])
    func `when a backend works, then the check finds each call`(
        kind: BackendCheck.Kind
    ) async throws {
        try await withBackend { fixture in
            for _ in 1...6 {
                let findings = try await check(fixture, kind).run()
                #expect(findings.count >= 2 && findings.allSatisfy { $0.isThere }, "\(findings)")
            }
            #expect(fixture.wire.messages.allSatisfy { $0.authorization == nil && ["", "{}"].contains($0.body) })
            try await fixture.vault.auth.signIn(
                PasswordSignIn(email: "alice@example.com", password: SecretBytes(utf8: "alice-password")))
        }
    }

    @Test(arguments: [200, 204, 400, 401, 403, 415, 422])
    func `when a call is refused, then it counts as present`(status: Int) async throws {
        try await withBackend { fixture in
            fixture.wire.answer("/auth/me", "", status: status)
            let findings = try await check(fixture, .browser).run()
            #expect(findings.allSatisfy { $0.isThere })
        }
    }

    @Test(arguments: [301, 302, 404, 405, 410])
    func `when a call is missing, then the check reports it`(status: Int) async throws {
        try await withBackend { fixture in
            fixture.wire.answer("/auth/me", "", status: status)
            let missing = try await check(fixture, .browser).run().filter { !$0.isThere }
            #expect(missing.map(\.call) == ["GET /auth/me"] && missing.map(\.status) == [status])
        }
    }

    @Test(arguments: [(BackendCheck.Kind.password, true), (.browser, false)])
    func `when the person's call is missing, then passwords still work`(
        kind: BackendCheck.Kind, isOptional: Bool
    ) async throws {
        try await withBackend { fixture in
            fixture.wire.answer("/auth/me", "", status: 404)
            let missing = try await check(fixture, kind).run().filter { !$0.isThere }
            #expect(missing.map(\.call) == ["GET /auth/me"] && missing.map(\.isOptional) == [isOptional])
        }
    }

    @Test func `when a layout omits a call, then it is skipped`() async throws {
        try await withBackend { fixture in
            var layout = BackendLayout()
            layout.password.me = ""
            layout.password.login = "/nowhere"
            let findings = try await check(fixture, .password, layout: layout).run()
            #expect(findings.map(\.isThere) == [false, true])
            #expect(fixture.wire.messages.map(\.path) == ["/nowhere", "/auth/refresh"])
        }
    }

    @Test func `when layouts name a version field, then it is read`() async throws {
        try await withBackend { fixture in
            var layout = BackendLayout()
            let told = try await check(fixture, .server, layout: layout).run()
            layout.server.version = ""
            let silent = try await check(fixture, .server, layout: layout).run()
            #expect(silent.map(\.version) == [nil, nil] && told.map(\.version) == ["1.4.2", nil])
        }
    }

    @Test func `when a server is old, then its profile suffices`() async throws {
        try await withBackend { fixture in
            fixture.wire.answer("/api/info", "", status: 404)
            let findings = try await check(fixture, .server).run()
            #expect(findings.map(\.call) == ["GET /api/profile"] && findings.allSatisfy { $0.isThere })
        }
    }

    @Test func `when a backend is down or failing, then checks throw`() async throws {
        try await withBackend { fixture in
            fixture.wire.answer("/auth/me", "", status: 503)
            await #expect(throws: OpenIDConnectError.self) { try await check(fixture, .browser).run() }
            fixture.wire.answer("/auth/me", nil)
            await fixture.stopBackend()
            let error = await #expect(throws: OpenIDConnectError.self) { try await check(fixture, .browser).run() }
            #expect(error?.code == .unavailable)
        }
    }
}
