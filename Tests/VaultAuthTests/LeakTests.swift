import CredentialVault
import Foundation
import Testing
import VaultDevelopment
import VaultTesting

/// The absence of secrets in output that a program may print or log.
@Suite struct LeakTests {
    private func expectNothing(of secrets: [String], in value: some Any, _ name: String) {
        var dumped = ""
        dump(value, to: &dumped)
        for text in [dumped, String(describing: value), String(reflecting: value), "\(value)"] {
            for secret in secrets { #expect(!text.contains(secret), "\(name)") }
        }
    }

    @Test func `when accounts, sessions or errors print, then no secret shows`() async throws {
        try await withFixture { fixture in
            let token = try await fixture.signIn()
            let accessToken = try #require(token.accessToken)
            var secrets = [Fixture.password, token.value, accessToken.value]
            expectNothing(of: secrets, in: fixture.vault.auth, "Auth before storing")
            let session = try await fixture.vault.storage.storeRefreshToken(
                token, withNewPassword: SecretBytes(utf8: Fixture.password))
            let account = try await fixture.vault.storage.account(userID: "alice")
            secrets.append("\(account.deviceSecret)")
            secrets.append("\(Data(account.deviceSecret).base64EncodedString())")
            expectNothing(of: secrets, in: token, "SignInResult")
            expectNothing(of: secrets, in: accessToken, "AccessToken")
            expectNothing(of: secrets, in: account, "Account")
            expectNothing(of: secrets, in: [account], "accounts")
            expectNothing(of: secrets, in: session, "Session")
            expectNothing(of: secrets, in: fixture.vault, "Vault")

            var errors: [VaultError] = []
            errors.append(
                try #require(await failure { try await fixture.login(password: "wrong \(Fixture.password)") }))
            await fixture.provider.setFault(.swallowAnswerAfterProcessing, times: 1)
            errors.append(try #require(await failure { _ = try await session.accessToken(forceRefresh: true) }))
            errors.append(try #require(await failure { try await fixture.login() }))
            fixture.keyService.isReachable = false
            errors.append(try #require(await failure { try await fixture.login() }))
            await fixture.stopProvider()
            errors.append(try #require(await failure { _ = try await session.accessToken(forceRefresh: true) }))
            for error in errors { expectNothing(of: secrets, in: error, "\(error.code)") }
        }
    }

    @Test func `when token sets or ID tokens print, then nothing shows`() {
        let idToken = IDToken(
            issuer: "https://login.example.com", subject: "secret-subject", email: "secret-email", expiresAt: Date(),
            issuedAt: Date(), claimsJSON: Array("secret-claims".utf8))
        let tokens = TokenSet(accessToken: "secret-access", refreshToken: "secret-refresh", idToken: idToken)
        expectNothing(of: ["secret-"], in: tokens, "TokenSet")
        expectNothing(of: ["secret-"], in: idToken, "IDToken")
    }
}
