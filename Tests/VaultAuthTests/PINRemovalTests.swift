import CredentialVault
import Testing
import VaultAuth
import VaultDevelopment
import VaultTesting

/// The check for a PIN, and its removal.
@Suite(.timeLimit(.minutes(1))) struct PINRemovalTests {
    @Test func `when a PIN is removed, then its key ends, too`() async throws {
        try await withFixture { fixture in
            let id = try await fixture.register().id
            let storage = fixture.vault.storage
            #expect(try await !storage.hasPIN(id))
            // The account has no PIN to remove, which is no error.
            try await storage.removePIN(id)
            let key = try #require(try await fixture.addPIN().keyslot(.pin)).keyID
            #expect(try await storage.hasPIN(id))
            #expect(fixture.keyService.liveKeys.contains(key))
            try await storage.removePIN(id)
            #expect(try await !storage.hasPIN(id))
            #expect(!fixture.keyService.liveKeys.contains(key), "its key was ended")
            #expect(await failure { _ = try await fixture.login(with: .pin(Fixture.pin)) }?.code == .notEnrolled)
            #expect(try await fixture.login().isOpen)
        }
    }

    @Test func `when only the PIN is left, then its removal fails`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let account = try await fixture.addPIN()
            let password = try #require(account.passwordKeyslot)
            let storage = fixture.vault.storage
            try await fixture.vault.accounts.removeKeyslot(password.id, of: account.id)
            #expect(await failure { try await storage.removePIN(account.id) }?.code == .lastUnlockMethod)
            #expect(try await storage.hasPIN(account.id))
            #expect(try await fixture.login(with: .pin(Fixture.pin)).isOpen)
        }
    }

    @Test func `when an account does not exist, then PIN calls fail`() async throws {
        try await withFixture { fixture in
            let nobody = AccountID(issuer: fixture.provider.issuer, subject: "nobody")
            let storage = fixture.vault.storage
            #expect(await failure { _ = try await storage.hasPIN(nobody) }?.code == .accountNotFound)
            #expect(await failure { try await storage.removePIN(nobody) }?.code == .accountNotFound)
        }
    }
}
