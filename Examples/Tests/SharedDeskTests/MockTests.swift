import CredentialVault
import Foundation
import HTTPTypes
import Synchronization
import Testing
import VaultTesting

@testable import SharedDesk

// The same desk over mocks of the app's own, made with public API alone. `VaultTesting` has the real parts over memory,
// which most tests should prefer. Mocks are for answers that these parts never give.

/// A session with one token, and items in memory.
final class MockSession: SessionBackend {
    let id: AccountID
    private let items = Mutex<[ItemName: [UInt8]]>([:])
    let isEnded = Mutex(false)

    init(_ id: AccountID) { self.id = id }

    func accessToken(
        isForced: Bool, minimumValidity: Duration, rejected: String?, requestedAt: Date
    ) async throws -> (token: AccessToken, isNew: Bool) {
        let token = AccessToken(
            value: "mock-\(id.subject)", tokenType: "Bearer", expiresAt: nil, scope: nil, obtainedAt: requestedAt)
        return (token, true)
    }

    func identity() async throws -> SignInResult.Identity {
        .init(email: nil, preferredUsername: nil, name: "Alice Adams", claimsJSON: Array("{}".utf8))
    }

    func item(_ name: ItemName) async throws -> StoredItem? {
        guard let bytes = items.withLock({ $0[name] }) else { return nil }
        let isRead = Mutex(false)
        return StoredItem(
            revision: ItemRevision(bytes: bytes),
            content: ItemContent {
                let wasRead = isRead.withLock { wasRead in
                    defer { wasRead = true }
                    return wasRead
                }
                return wasRead ? nil : bytes
            })
    }

    func setItem<Content: AsyncSequence & Sendable>(
        _ name: ItemName, from content: Content, if expected: ItemExpectation
    ) async throws -> Bool where Content.Element == [UInt8] {
        var bytes: [UInt8] = []
        for try await piece in content { bytes += piece }
        return items.withLock { [bytes] items in
            guard expected.accepts(items[name].map(ItemRevision.init(bytes:))) else { return false }
            items[name] = bytes
            return true
        }
    }

    func end() { isEnded.withLock { $0 = true } }
}

/// A login without passwords.
final class MockAuth: AuthProtocol {
    private let current = Mutex<Session?>(nil)
    let backend: MockSession

    init(_ id: AccountID) { backend = MockSession(id) }

    var session: Session? { current.withLock { $0 } }

    func login(_ account: AccountID, with method: UnlockMethod) async throws -> Session {
        let session = Session(backend)
        current.withLock { $0 = session }
        return session
    }
}

struct MockStorage: StorageProtocol {
    let id: AccountID

    func all() async throws -> [Account] {
        [Account(id: id, alias: "alice", clientID: "app", keyServiceURL: "", deviceSecret: [], createdAt: .now)]
    }

    func keyslotSummaries(of account: AccountID) async throws -> [KeyslotSummary] {
        [KeyslotSummary(id: "1", kind: .pin, name: "PIN", state: .forbidden)]
    }

    func openBackup(at path: String, passphrase: borrowing SecretBytes) async throws -> Backup {
        Backup(contents: BackupContents(createdAt: .now, accounts: [.init(id: id, alias: "alice")]))
    }
}

@Suite struct MockTests {
    let id = AccountID(issuer: "https://login.example.com", subject: "7")
    let auth: MockAuth
    let desk: Desk

    init() {
        auth = MockAuth(id)
        let network = FakeTransport { request, _ in
            let isAlice = request.headerFields[.authorization] == "Bearer mock-7"
            return HTTPAnswer(status: isAlice ? .ok : .unauthorized, body: Array("[\"Ms Grey\"]".utf8))
        }
        desk = Desk(
            vault: Vault(auth: auth, storage: MockStorage(id: id)), api: "https://api.example.com", network: network)
    }

    private func take() async throws -> String {
        try await desk.take(
            desk.vault.storage.account(userID: "alice").id, with: .pin(SecretBytes(utf8: "8264")))
    }

    @Test func `when a mock logs in, then the desk has data`() async throws {
        #expect(try await take() == "Hello Alice Adams.")
        #expect(try await desk.patients() == ["Ms Grey"])
        try await desk.add(note: "Room 4: bandage")
        try await desk.add(note: "Room 5: ice")
        #expect(try await desk.notes() == ["Room 4: bandage", "Room 5: ice"])
        #expect(try await desk.vault.auth.accessToken().value == "mock-7")
    }

    @Test func `when a mock has results, then an app shows them`() async throws {
        let storage = desk.vault.storage
        #expect(try await storage.keyslotSummaries(of: id).map(\.state) == [.forbidden])
        let backup = try await storage.openBackup(at: "/backup", passphrase: SecretBytes(utf8: "four plain words"))
        #expect(backup.contents.accounts.map(\.displayName) == ["alice"])
        let device = AccountDevice(id: "1", name: "desk 4", keys: [.init(id: "k", createdAt: .now, isLocked: true)])
        #expect(device.isLocked && device.lastUsedAt == nil)
    }

    @Test func `when a mock is locked, then its session has ended`() async throws {
        _ = try await take()
        await desk.vault.auth.lock()
        #expect(auth.backend.isEnded.withLock { $0 } && !desk.vault.auth.isLoggedIn)
        let error = await #expect(throws: VaultError.self) { try await desk.notes() }
        #expect(error?.code == .notLoggedIn)
    }

    @Test func `when a call is unmocked, then the error names it`() async throws {
        _ = try await take()
        let error = await #expect(throws: VaultError.self) { try await auth.session?.openVaultKey() }
        #expect(error?.code == .configurationInvalid)
        #expect(error?.description.contains("vaultKey()") == true)
    }
}
