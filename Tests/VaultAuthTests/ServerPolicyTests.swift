import CredentialVault
import Testing
import VaultAuth
import VaultDevelopment
import VaultTesting

/// A policy's rules for identity providers and key services.
@Suite(.timeLimit(.minutes(1))) struct ServerPolicyTests {
    private static let other = "https://other.example.com"

    @Test(arguments: [
        (VaultPolicy(allowedIssuers: [other]), "allowed-issuers"),
        (VaultPolicy(allowedKeyServices: [other]), "allowed-key-services"),
    ])
    func `when the policy forbids the server, then accounts stay closed`(
        policy: VaultPolicy, rule: String
    ) async throws {
        try await withFixture { first in
            let token = try await first.signIn("bob")
            try await first.register()
            try await first.addOffline()
            let fixture = try await first.under(policy)
            let (calls, requests) = (fixture.keyService.calls, await fixture.provider.requests.count)
            let password = SharedSecret(try SecretBytes(utf8: Fixture.password))
            let refusals = [
                await failure { _ = try await fixture.store(token) },
                await failure { _ = try await fixture.login() },
                await failure { _ = try await fixture.login(with: .offline(Fixture.password)) },
                await failure {
                    _ = try await fixture.vault.storage.storedRefreshToken(
                        of: first.id(), with: .password(password.bytes.copy()))
                },
            ]
            for error in refusals {
                #expect(error?.code == .forbiddenByPolicy)
                let text = error?.description ?? ""
                #expect(text.contains("The rule \(rule) (in \(VaultPolicy.machineFile), or of the app)"), "\(text)")
                #expect(text.contains("allows: \(Self.other)."), "\(text)")
                #expect(error?.policyObjection?.rule.name == rule && error?.policyObjection?.allowed == [Self.other])
                #expect(error?.policyObjection?.refused.map(text.contains) == true)
            }
            #expect(fixture.keyService.calls == calls)
            #expect(await fixture.provider.requests.count == requests)
            #expect(try await fixture.vault.storage.all().count == 1)
            // The account opens when the policy allows it.
            #expect(try await first.login().isOpen)
        }
    }

    @Test func `when the policy forbids the issuer, then no browser opens`() async throws {
        try await withFixture { first in
            let requests = await first.provider.requests.count
            let issuer = try await first.under(VaultPolicy(allowedIssuers: [Self.other]))
            #expect(await failure { _ = try await issuer.signIn() }?.code == .forbiddenByPolicy)
            #expect(await first.provider.requests.count == requests)
            let keys = try await first.under(VaultPolicy(allowedKeyServices: [Self.other]))
            #expect(await failure { try await keys.vault.storage.checkReady() }?.code == .forbiddenByPolicy)
        }
    }

    @Test func `when the policy lists both servers, then the account opens`() async throws {
        try await withFixture { first in
            let issuer = first.provider.issuer
            let fixture = try await first.under(
                VaultPolicy(allowedIssuers: [issuer, Self.other], allowedKeyServices: ["https://keys.example.com"]))
            try await fixture.vault.storage.checkReady()
            try await fixture.register()
            #expect(try await fixture.login().isOpen)
        }
    }
}
