import CredentialVault
import Foundation
import Testing
import VaultAuthTestSupport
import VaultDevelopment
import VaultTesting

@Suite struct LoginTests {
    @Test func `when an account is registered, then its password logs in`() async throws {
        try await withBenchOnDisk { bench, folder in
            let token = try await bench.signIn()
            #expect(!bench.vault.auth.isLoggedIn, "it is not stored yet")
            #expect(try await bench.vault.storage.availableUserIDs == [])
            try await bench.vault.storage.storeRefreshToken(
                token, withNewPassword: SecretBytes(utf8: Bench.password), alias: "me")
            #expect(bench.keyService.calls == 1)
            #expect(try await bench.vault.storage.availableUserIDs == [token.account.subject])

            for (index, name) in ["me", "alice", "alice@example.com", token.account.subject].enumerated() {
                // A new program, which has only the folder.
                let vault = try await bench.anotherVault(store: SQLiteStore(folder: folder))
                #expect(try await vault.storage.hasRefreshToken(userID: name))
                let calls = bench.keyService.calls
                let session = try await vault.auth.login(userID: name, password: SecretBytes(utf8: Bench.password))
                #expect(bench.keyService.calls == calls + 1)
                #expect(session.id == token.account)
                #expect(vault.auth.isLoggedIn)
                #expect(await bench.refreshes.last?.presentedGeneration == index + 1)
                let access = try await vault.auth.accessToken()
                #expect(access.tokenType == "Bearer" && access.isValid(for: .seconds(200), at: bench.clock.now))
            }
            #expect(await bench.refreshes.map(\.outcome) == [.ok, .ok, .ok, .ok])
        }
    }

    @Test func `when a login refreshes, then the newest token is stored`() async throws {
        try await withBench { bench in
            let first = try await bench.signIn()
            try await bench.vault.storage.storeRefreshToken(first, withNewPassword: SecretBytes(utf8: Bench.password))
            func stored() async throws -> SignInResult {
                try await bench.vault.storage.storedRefreshToken(
                    userID: "alice", password: SecretBytes(utf8: Bench.password))
            }
            #expect(try await stored().value == first.value)
            #expect(try await stored().identity.name == "Alice Example")
            #expect(await bench.refreshes == [])
            try await bench.login()
            #expect(try await stored().value != first.value)
            #expect(try await bench.vault.auth.refreshToken.value == stored().value)
        }
    }

    @Test func `when three passwords are wrong, then the key is locked`() async throws {
        try await withBench { bench in
            try await bench.register()
            try await bench.vault.auth.logout()
            let texts = ["2 guesses are left", "1 guess is left", "If you register again, the stored items are lost."]
            for (left, text) in zip([2, 1, 0], texts) {
                let error = await failure { try await bench.login(password: "not the password") }
                #expect(error?.code == .wrongSecret)
                #expect(error?.guessesRemaining == left)
                #expect(error?.description.contains(text) == true)
                #expect(error?.detail == (left == 0 ? .noOtherMethod : nil))
            }
            let locked = await failure { try await bench.login() }
            #expect(locked?.code == .keyLocked)
            #expect(locked?.description.contains("If you register again, the stored items are lost.") == true)
            #expect(locked?.detail == .noOtherMethod)
            #expect(!bench.vault.auth.isLoggedIn)
            #expect(await bench.refreshes == [])
            // Registering again repairs the account.
            try await bench.register(password: "another fine password")
            try await bench.login(password: "another fine password")
        }
    }

    @Test func `when the password is right, then the guesses are restored`() async throws {
        try await withBench { bench in
            try await bench.register()
            for _ in 0..<3 {
                #expect(await failure { try await bench.login(password: "wrong") }?.guessesRemaining == 2)
                try await bench.login()
            }
        }
    }

    @Test func `when a key is unreachable or lost, then errors differ`() async throws {
        try await withBench { bench in
            try await bench.register()
            bench.keyService.isReachable = false
            #expect(await failure { try await bench.login() }?.code == .keyServiceUnavailable)
            #expect(await failure { try await bench.vault.storage.checkReady() }?.code == .keyServiceUnavailable)
            bench.keyService.isReachable = true
            try await bench.vault.storage.checkReady()
            try await bench.login()
            bench.keyService.deleteAllKeys()
            #expect(await failure { try await bench.login() }?.code == .keyMissing)
            #expect(try await bench.vault.storage.hasRefreshToken(userID: "alice"))
        }
    }

    @Test func `when a name fits no single account, then login fails`() async throws {
        try await withBench { bench in
            try await bench.register("alice", alias: "bob")
            try await bench.register("bob")
            let calls = bench.keyService.calls
            let missing = await failure { try await bench.login("carol") }
            #expect(missing?.code == .accountNotFound)
            #expect(try await !bench.vault.storage.hasRefreshToken(userID: "carol"))
            let error = await failure { try await bench.login("bob") }
            #expect(error?.code == .accountAmbiguous)
            let subjects = [
                DevelopmentIdentityProvider.User.alice.subject, DevelopmentIdentityProvider.User.bob.subject,
            ]
            #expect(error?.accounts.map(\.subject) == subjects)
            for subject in subjects { #expect(error?.description.contains(subject) == true) }
            #expect(bench.keyService.calls == calls)
            try await bench.login(subjects[1])
        }
    }

    @Test func `when the person denies consent, then login is cancelled`() async throws {
        try await withBench { bench in
            let error = await failure {
                try await bench.vault.auth.performOpenIDConnectLogin(
                    using: ScriptedBrowser(username: "alice", password: "", choice: .deny))
            }
            #expect(error?.code == .cancelled)
            #expect(!bench.vault.auth.isLoggedIn)
            try await bench.register()
        }
    }

    @Test func `when no refresh token comes, then the error names offline_access`() async throws {
        var options = DevelopmentIdentityProvider.Options()
        options.issuesRefreshToken = false
        try await withBench(options: options) { bench in
            let error = await failure { _ = try await bench.signIn() }
            #expect(error?.code == .configurationInvalid)
            #expect(error?.description.contains("offline_access") == true)
            #expect(!bench.vault.auth.isLoggedIn)
        }
    }

    @Test func `when settings are missing, then login reports an invalid configuration`() async throws {
        let vault = try await Vault(
            VaultConfiguration(), store: InMemoryStore(), keyService: InMemoryKeyService())
        let error = await failure {
            try await vault.auth.performOpenIDConnectLogin(using: ScriptedBrowser(username: "a", password: "b"))
        }
        #expect(error?.code == .configurationInvalid)
        #expect(await failure { _ = try await vault.auth.accessToken() }?.code == .notLoggedIn)
        #expect(await failure { _ = try await vault.auth.refreshToken }?.code == .notLoggedIn)
    }

    @Test func `when the app receives the redirect, then the login succeeds`() async throws {
        let uri = "myapp://callback"
        var options = DevelopmentIdentityProvider.Options()
        options.redirectURIs = [uri]
        try await withBench(redirectURI: uri, options: options) { bench in
            let auth = bench.vault.auth
            let alice = ScriptedBrowser(username: "alice", password: "alice-password")
            let nobodys = try #require(URL(string: uri + "?code=x&state=y"))
            #expect(await !auth.handleRedirect(url: nobodys))
            let token = try await auth.performOpenIDConnectLogin(using: AppBrowser(auth: auth, person: alice))
            #expect(token.account.subject == DevelopmentIdentityProvider.User.alice.subject)
            #expect(await !auth.handleRedirect(url: nobodys))
        }
    }
}
