import CredentialVault
import Foundation
import Testing
import VaultDevelopment
import VaultTesting

@testable import VaultAuth

/// A client with a secret that the provider's operator registered, and the parameters of its sign-ins.
@Suite struct ConfiguredClientTests {
    private static let secret = "se cret:1%&"
    private static let alice = ScriptedBrowser(username: "alice", password: "alice-password")

    private func options(_ change: (inout DevelopmentIdentityProvider.Options) -> Void = { _ in })
        -> DevelopmentIdentityProvider.Options
    {
        var options = DevelopmentIdentityProvider.Options()
        options.clientSecret = Self.secret
        options.devicePollingInterval = 1
        change(&options)
        return options
    }

    /// A machine whose programs each have their own settings.
    private struct Machine {
        let store = InMemoryStore()
        let keys = InMemoryKeyService()
        let issuer: String

        func configuration(secret: String? = ConfiguredClientTests.secret) throws -> VaultConfiguration {
            var configuration = VaultConfiguration(
                issuer: issuer, clientID: "vault-cli", keyServiceURL: "https://keys.example.com",
                argon2: .insecureForTests)
            configuration.clientSecret = try secret.map { SharedSecret(try SecretBytes(utf8: $0)) }
            return configuration
        }

        func vault(_ configuration: VaultConfiguration) async throws -> Vault {
            try await Vault(configuration, store: store, keyService: keys)
        }
    }

    @Test(arguments: [
        (DevelopmentIdentityProvider.ClientSecretMethod.basic, "client_secret_basic"), (.post, "client_secret_post"),
    ])
    func `when a secret is configured, then every request carries it`(
        method: DevelopmentIdentityProvider.ClientSecretMethod, name: String
    ) async throws {
        let options = options {
            $0.clientSecretMethods = [method]
            $0.pushedAuthorization = .required
        }
        try await withDevelopmentIdentityProvider(options) { provider in
            let machine = Machine(issuer: provider.issuer)
            let first = try await machine.vault(machine.configuration())
            let token = try await first.auth.performOpenIDConnectLogin(using: Self.alice)
            let password = try SecretBytes(utf8: Fixture.password)
            try await first.storage.storeRefreshToken(token, withNewPassword: password)
            let later = try await machine.vault(machine.configuration(secret: nil))
            try await later.auth.login(userID: "alice", password: password)
            _ = try await later.auth.accessToken(forceRefresh: true)
            #expect(try await later.auth.logoutEverywhere() == nil)
            let own = await provider.requests.filter { $0.clientAuthentication != nil }
            #expect(Set(own.map(\.endpoint)) == [.pushedAuthorization, .token, .revocation])
            #expect(own.contains { $0.grantType == "refresh_token" })
            #expect(own.allSatisfy { $0.clientAuthentication == name && $0.outcome == .ok })
        }
    }

    @Test func `when device or password sign-ins run, then secrets are sent`() async throws {
        try await withDevelopmentIdentityProvider(options { $0.allowsPasswordGrant = true }) { provider in
            let machine = Machine(issuer: provider.issuer)
            let vault = try await machine.vault(machine.configuration())
            let ways: [any SignIn] = [
                DeviceSignIn { _ = try await Self.alice.visit($0.verificationURI, userCode: $0.userCode) },
                try PasswordGrantSignIn(username: "alice", password: SecretBytes(utf8: "alice-password")),
            ]
            for way in ways {
                let token = try await vault.auth.signIn(way)
                #expect(token.credential.clientSecret == Self.secret)
            }
            let own = await provider.requests.filter { $0.clientAuthentication != nil }
            #expect(own.allSatisfy { $0.clientAuthentication == "client_secret_basic" })
            #expect(own.contains { $0.endpoint == .deviceAuthorization })
        }
    }

    @Test func `when a client secret is unusable, then nothing is sent`() async throws {
        try await withDevelopmentIdentityProvider(options()) { provider in
            let machine = Machine(issuer: provider.issuer)
            var configuration = try machine.configuration()
            for id in [nil, ""] {
                configuration.clientID = id
                let vault = try await machine.vault(configuration)
                let error = await failure { try await vault.auth.performOpenIDConnectLogin(using: Self.alice) }
                #expect(error?.code == .configurationInvalid)
                #expect(error?.description.contains("client id") == true)
            }
            for secret in ["", "two\nlines", "tür", "tab\t"] {
                let vault = try await machine.vault(machine.configuration(secret: secret))
                let error = await failure { try await vault.auth.performOpenIDConnectLogin(using: Self.alice) }
                #expect(error?.code == .configurationInvalid)
                #expect(secret.isEmpty || error?.description.contains(secret) == false)
            }
            #expect(await provider.requests.isEmpty)
        }
    }

    @Test func `when another issuer is used, then it gets no secret`() async throws {
        var others = DevelopmentIdentityProvider.Options()
        others.pushedAuthorization = .required
        try await withDevelopmentIdentityProvider(others) { other in
            let machine = Machine(issuer: "https://login.example.com")
            let vault = try await machine.vault(machine.configuration())
            let auth = try #require(vault.auth as? Auth)
            let token = try await auth.signIns.run(BrowserSignIn(using: Self.alice), at: other.issuer, layout: nil)
            #expect(token.credential.clientSecret == nil)
            let own = await other.requests.filter { $0.clientAuthentication != nil }
            #expect(!own.isEmpty && own.allSatisfy { $0.clientAuthentication == "none" })
        }
    }

    @Test func `when values are printed, then no client secret shows`() async throws {
        try await withDevelopmentIdentityProvider(options()) { provider in
            let machine = Machine(issuer: provider.issuer)
            let configuration = try machine.configuration()
            let vault = try await machine.vault(configuration)
            let token = try await vault.auth.performOpenIDConnectLogin(using: Self.alice)
            var settings = Auth.Settings(issuer: "i", clientID: "c", scopes: [], redirectURI: nil)
            settings.clientSecret = configuration.clientSecret
            let wrong = try await machine.vault(machine.configuration(secret: "wrong \(Self.secret)"))
            let error = try #require(
                await failure { try await wrong.auth.performOpenIDConnectLogin(using: Self.alice) })
            #expect(error.code == .configurationInvalid)
            for value: Any in [configuration, settings, vault, vault.auth, token, token.credential, error] {
                var text = "\(value)" + String(reflecting: value)
                dump(value, to: &text)
                #expect(!text.contains("cret:1"), "\(type(of: value))")
            }
        }
    }

    // MARK: - Parameters

    @Test(arguments: [false, true])
    func `when sign-in has parameters, then they override the configuration`(isPushed: Bool) async throws {
        try await withDevelopmentIdentityProvider(options { $0.pushedAuthorization = isPushed ? .required : .off }) {
            provider in
            let machine = Machine(issuer: provider.issuer)
            var configuration = try machine.configuration()
            configuration.signInParameters = SignInParameters(
                prompt: "login", audience: "https://api.example.com", additionalParameters: ["hd": "example.com"])
            let vault = try await machine.vault(configuration)
            try await vault.auth.performOpenIDConnectLogin(using: Self.alice)
            let own = SignInParameters(prompt: "consent", loginHint: "al", acrValues: "gold", uiLocales: "da")
            try await vault.auth.performOpenIDConnectLogin(using: Self.alice, parameters: own)
            try await vault.auth.signIn(
                DeviceSignIn(parameters: own) {
                    _ = try await Self.alice.visit($0.verificationURI, userCode: $0.userCode)
                })
            let base = ["prompt": "login", "audience": "https://api.example.com", "hd": "example.com"]
            let both = base.merging(
                ["prompt": "consent", "login_hint": "al", "acr_values": "gold", "ui_locales": "da"]) { $1 }
            let asked = await provider.requests.filter {
                $0.endpoint == (isPushed ? .pushedAuthorization : .authorization)
                    || $0.endpoint == .deviceAuthorization
            }
            #expect(asked.map(\.parameters) == [base, both, both])
        }
    }

    @Test func `when a parameter is the protocol's, then it is refused`() async throws {
        try await withDevelopmentIdentityProvider(options()) { provider in
            let machine = Machine(issuer: provider.issuer)
            let vault = try await machine.vault(machine.configuration())
            let error = await failure {
                try await vault.auth.performOpenIDConnectLogin(
                    using: Self.alice, parameters: .init(additionalParameters: ["redirect_uri": "https://evil.example"])
                )
            }
            #expect(error?.code == .configurationInvalid)
            #expect(error?.description.contains("redirect_uri") == true)
            #expect(await provider.requests.isEmpty)
        }
    }

    @Test func `when prompt none needs interaction, then the error says so`() async throws {
        try await withDevelopmentIdentityProvider(options()) { provider in
            let machine = Machine(issuer: provider.issuer)
            let vault = try await machine.vault(machine.configuration())
            let error = await failure {
                try await vault.auth.performOpenIDConnectLogin(using: Self.alice, parameters: .init(prompt: "none"))
            }
            #expect(error?.code == .interactionRequired)
            #expect(error?.description.contains("nobody is logged in at the provider") == true)
        }
    }
}
