import CredentialVault
import Testing
import VaultAuth
import VaultDevelopment
import VaultTesting

/// The check for a PIN, and its removal.
@Suite(.timeLimit(.minutes(1))) struct PINRemovalTests {
    @Test func `when a PIN is removed, then its key ends, too`() async throws {
        try await withBench { bench in
            let id = try await bench.register().id
            let storage = bench.vault.storage
            #expect(try await !storage.hasPIN(id))
            // The account has no PIN to remove, which is no error.
            try await storage.removePIN(id)
            let key = try #require(try await bench.addPIN().keyslot(.pin)).keyID
            #expect(try await storage.hasPIN(id))
            #expect(bench.keyService.liveKeys.contains(key))
            try await storage.removePIN(id)
            #expect(try await !storage.hasPIN(id))
            #expect(!bench.keyService.liveKeys.contains(key), "its key was ended")
            #expect(await failure { _ = try await bench.login(with: .pin(Bench.pin)) }?.code == .notEnrolled)
            #expect(try await bench.login().isOpen)
        }
    }

    @Test func `when only the PIN is left, then its removal fails`() async throws {
        try await withBench { bench in
            try await bench.register()
            let account = try await bench.addPIN()
            let password = try #require(account.passwordKeyslot)
            let storage = bench.vault.storage
            try await bench.vault.accounts.removeKeyslot(password.id, of: account.id)
            #expect(await failure { try await storage.removePIN(account.id) }?.code == .lastUnlockMethod)
            #expect(try await storage.hasPIN(account.id))
            #expect(try await bench.login(with: .pin(Bench.pin)).isOpen)
        }
    }

    @Test func `when an account does not exist, then PIN calls fail`() async throws {
        try await withBench { bench in
            let nobody = AccountID(issuer: bench.provider.issuer, subject: "nobody")
            let storage = bench.vault.storage
            #expect(await failure { _ = try await storage.hasPIN(nobody) }?.code == .accountNotFound)
            #expect(await failure { try await storage.removePIN(nobody) }?.code == .accountNotFound)
        }
    }
}
