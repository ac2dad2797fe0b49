import CredentialVault
import Foundation
import Testing
import VaultAuthTestSupport
import VaultDevelopment
import VaultTesting

@Suite struct LoginTests {
    @Test func `when an account is registered, then its password logs in`() async throws {
        try await withFixtureOnDisk { fixture, folder in
            let token = try await fixture.signIn()
            #expect(!fixture.vault.auth.isLoggedIn, "it is not stored yet")
            #expect(try await fixture.vault.storage.availableUserIDs == [])
            try await fixture.vault.storage.storeRefreshToken(
                token, withNewPassword: SecretBytes(utf8: Fixture.password), alias: "me")
            #expect(fixture.keyService.calls == 1)
            #expect(try await fixture.vault.storage.availableUserIDs == [token.account.subject])

            for (index, name) in ["me", "alice", "alice@example.com", token.account.subject].enumerated() {
                // A new program, which has only the folder.
                let vault = try await fixture.anotherVault(store: SQLiteStore(folder: folder))
                #expect(try await vault.storage.hasRefreshToken(userID: name))
                let calls = fixture.keyService.calls
                let session = try await vault.auth.login(userID: name, password: SecretBytes(utf8: Fixture.password))
                #expect(fixture.keyService.calls == calls + 1)
                #expect(session.id == token.account)
                #expect(vault.auth.isLoggedIn)
                #expect(await fixture.refreshes.last?.presentedGeneration == index + 1)
                let access = try await vault.auth.accessToken()
                #expect(access.tokenType == "Bearer" && access.isValid(for: .seconds(200), at: fixture.clock.now))
            }
            #expect(await fixture.refreshes.map(\.outcome) == [.ok, .ok, .ok, .ok])
        }
    }

    @Test func `when a login refreshes, then the newest token is stored`() async throws {
        try await withFixture { fixture in
            let first = try await fixture.signIn()
            try await fixture.vault.storage.storeRefreshToken(
                first, withNewPassword: SecretBytes(utf8: Fixture.password))
            func stored() async throws -> SignInResult {
                try await fixture.vault.storage.storedRefreshToken(
                    userID: "alice", password: SecretBytes(utf8: Fixture.password))
            }
            #expect(try await stored().value == first.value)
            #expect(try await stored().identity.name == "Alice Example")
            #expect(await fixture.refreshes == [])
            try await fixture.login()
            #expect(try await stored().value != first.value)
            #expect(try await fixture.vault.auth.refreshToken.value == stored().value)
        }
    }

    @Test func `when three passwords are wrong, then the key is locked`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            try await fixture.vault.auth.logout()
            let texts = ["2 guesses are left", "1 guess is left", "If you register again, the stored items are lost."]
            for (left, text) in zip([2, 1, 0], texts) {
                let error = await failure { try await fixture.login(password: "not the password") }
                #expect(error?.code == .wrongSecret)
                #expect(error?.guessesRemaining == left)
                #expect(error?.description.contains(text) == true)
                #expect(error?.detail == (left == 0 ? .noOtherMethod : nil))
            }
            let locked = await failure { try await fixture.login() }
            #expect(locked?.code == .keyLocked)
            #expect(locked?.description.contains("If you register again, the stored items are lost.") == true)
            #expect(locked?.detail == .noOtherMethod)
            #expect(!fixture.vault.auth.isLoggedIn)
            #expect(await fixture.refreshes == [])
            // Registering again repairs the account.
            try await fixture.register(password: "another fine password")
            try await fixture.login(password: "another fine password")
        }
    }

    @Test func `when the password is right, then the guesses are restored`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            for _ in 0..<3 {
                #expect(await failure { try await fixture.login(password: "wrong") }?.guessesRemaining == 2)
                try await fixture.login()
            }
        }
    }

    @Test func `when a key is unreachable or lost, then errors differ`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            fixture.keyService.isReachable = false
            #expect(await failure { try await fixture.login() }?.code == .keyServiceUnavailable)
            #expect(await failure { try await fixture.vault.storage.checkReady() }?.code == .keyServiceUnavailable)
            fixture.keyService.isReachable = true
            try await fixture.vault.storage.checkReady()
            try await fixture.login()
            fixture.keyService.deleteAllKeys()
            #expect(await failure { try await fixture.login() }?.code == .keyMissing)
            #expect(try await fixture.vault.storage.hasRefreshToken(userID: "alice"))
        }
    }

    @Test func `when a name fits no single account, then login fails`() async throws {
        try await withFixture { fixture in
            try await fixture.register("alice")
            try await fixture.register("bob")
            var alice = try await fixture.vault.storage.account(userID: "alice")
            alice.preferredUsername = "bob"
            try await fixture.store.apply([.putAccount(alice)], to: alice.id)
            let calls = fixture.keyService.calls
            let missing = await failure { try await fixture.login("carol") }
            #expect(missing?.code == .accountNotFound)
            #expect(try await !fixture.vault.storage.hasRefreshToken(userID: "carol"))
            let error = await failure { try await fixture.login("bob") }
            #expect(error?.code == .accountAmbiguous)
            let subjects = [
                DevelopmentIdentityProvider.User.alice.subject, DevelopmentIdentityProvider.User.bob.subject,
            ]
            #expect(error?.accounts.map(\.subject) == subjects)
            for subject in subjects { #expect(error?.description.contains(subject) == true) }
            #expect(fixture.keyService.calls == calls)
            try await fixture.login(subjects[1])
        }
    }

    @Test func `when the person denies consent, then login is cancelled`() async throws {
        try await withFixture { fixture in
            let error = await failure {
                try await fixture.vault.auth.performOpenIDConnectLogin(
                    using: ScriptedBrowser(username: "alice", password: "", choice: .deny))
            }
            #expect(error?.code == .cancelled)
            #expect(!fixture.vault.auth.isLoggedIn)
            try await fixture.register()
        }
    }

    @Test func `when no refresh token comes, then the error names offline_access`() async throws {
        var options = DevelopmentIdentityProvider.Options()
        options.issuesRefreshToken = false
        try await withFixture(options: options) { fixture in
            let error = await failure { _ = try await fixture.signIn() }
            #expect(error?.code == .configurationInvalid)
            #expect(error?.description.contains("offline_access") == true)
            #expect(!fixture.vault.auth.isLoggedIn)
        }
    }

    @Test func `when the issuer is missing, then the error names it`() async throws {
        let vault = try await Vault(
            VaultConfiguration(), store: InMemoryStore(), keyService: InMemoryKeyService())
        let error = await failure {
            try await vault.auth.performOpenIDConnectLogin(using: ScriptedBrowser(username: "a", password: "b"))
        }
        #expect(error?.code == .configurationInvalid)
        #expect(error?.description.contains("The issuer is missing") == true)
        #expect(await failure { _ = try await vault.auth.accessToken() }?.code == .notLoggedIn)
        #expect(await failure { _ = try await vault.auth.refreshToken }?.code == .notLoggedIn)
    }

    @Test func `when the app receives the redirect, then the login succeeds`() async throws {
        let uri = "myapp://callback"
        var options = DevelopmentIdentityProvider.Options()
        options.redirectURIs = [uri]
        try await withFixture(redirectURI: uri, options: options) { fixture in
            let auth = fixture.vault.auth
            let alice = ScriptedBrowser(username: "alice", password: "alice-password")
            let nobodys = try #require(URL(string: uri + "?code=x&state=y"))
            #expect(await !auth.handleRedirect(url: nobodys))
            let token = try await auth.performOpenIDConnectLogin(using: AppBrowser(auth: auth, person: alice))
            #expect(token.account.subject == DevelopmentIdentityProvider.User.alice.subject)
            #expect(await !auth.handleRedirect(url: nobodys))
        }
    }
}
