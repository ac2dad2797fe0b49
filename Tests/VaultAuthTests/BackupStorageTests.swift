import CredentialVault
import Foundation
import Testing
import VaultDevelopment
import VaultTesting

/// An app's use of backups: making and reading them.
@Suite(.timeLimit(.minutes(1))) struct BackupStorageTests {
    @Test func `when a backup moves an account, then its items arrive`() async throws {
        let path = FileManager.default.temporaryDirectory.path() + "backup-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await withFixture { fixture in
            let session = try await fixture.register(alias: "me")
            try await session.items.update("notes", default: [String]()) { $0.append("Room 4") }
            let passphrase = try SecretBytes(utf8: "seven owls on a wire")
            let new = try SecretBytes(utf8: "lantern-77-orchard")
            let wrong = await failure {
                try await fixture.vault.storage.exportBackup(
                    of: [session.id: .password(SecretBytes(utf8: "wrong password"))], items: nil, to: path,
                    passphrase: passphrase)
            }
            #expect(wrong?.code == .wrongSecret && !FileManager.default.fileExists(atPath: path))
            let method = try UnlockMethod.password(SecretBytes(utf8: Fixture.password))
            try await fixture.vault.storage.exportBackup(
                of: [session.id: method], items: nil, to: path, passphrase: passphrase)
            #expect(session.isOpen, "nobody is logged out by that")

            let machine = try await fixture.anotherVault(store: InMemoryStore())
            let backup = try await machine.storage.openBackup(at: path, passphrase: passphrase)
            let account = try #require(backup.contents.accounts.first)
            #expect(account.id == session.id && account.alias == "me" && account.items == ["notes"])
            #expect(
                await failure { _ = try await machine.storage.openBackup(at: path, passphrase: new) }?.code
                    == .wrongSecret)
            try await machine.storage.importBackup(backup, account: account.id, newPassword: new)
            // The items are available before a login.
            let opened = try await machine.auth.unlock(account.id, with: .password(new))
            #expect(try await opened.items.get("notes", as: [String].self) == ["Room 4"])
            let calls = await fixture.refreshes.count
            #expect(await failure { _ = try await opened.accessToken() }?.code == .notLoggedIn)
            #expect(await fixture.refreshes.count == calls, "no token was sent")

            let token = try await machine.auth.performOpenIDConnectLogin(
                using: ScriptedBrowser(username: "alice", password: "alice-password"))
            let login = try await machine.storage.storeRefreshToken(token, with: .password(new))
            #expect(try await login.items.get("notes", as: [String].self) == ["Room 4"])
            _ = try await login.accessToken(forceRefresh: true)
            _ = try await session.accessToken(forceRefresh: true)

            try await login.items.set("notes", to: [1])
            let kept = try await machine.storage.importBackup(
                backup, into: account.id, with: .password(new), replacingItems: false)
            #expect(kept.items == [] && kept.keptItems == ["notes"])
            try await machine.storage.importBackup(
                backup, into: account.id, with: .password(new), replacingItems: true)
            #expect(try await login.items.get("notes", as: [String].self) == ["Room 4"])
        }
    }
}
