import CredentialVault
import Foundation
import HTTPTypes
import VaultBase
import VaultDevelopment

/// A store that runs a test's code before each change, and before each lock.
struct WatchedStore: SecureStore {
    let base: any SecureStore
    /// Called before the change is made. An error that it throws makes the change fail.
    let beforeApplying: @Sendable ([StoreChange]) async throws -> Void
    /// Called before the lock is requested.
    var beforeLocking: @Sendable () async throws -> Void = {}
    /// Called before an item is read.
    var beforeReading: @Sendable (ItemName) async throws -> Void = { _ in }
    /// Called before a record is read and changed. An error that it throws makes that fail.
    var beforeRecord: @Sendable (String) throws -> Void = { _ in }

    func apply(_ changes: [StoreChange], to id: AccountID) async throws {
        try await beforeApplying(changes)
        try await base.apply(changes, to: id)
    }

    func accounts() async throws -> [Account] { try await base.accounts() }
    func accounts(named name: String) async throws -> [Account] { try await base.accounts(named: name) }
    func account(_ id: AccountID) async throws -> Account? { try await base.account(id) }
    func item(_ name: ItemName, of id: AccountID) async throws -> [UInt8]? {
        try await beforeReading(name)
        return try await base.item(name, of: id)
    }
    func chunk(_ number: Int, ofItem name: ItemName, head: [UInt8], of id: AccountID) async throws -> [UInt8]? {
        try await base.chunk(number, ofItem: name, head: head, of: id)
    }
    func itemNames(of id: AccountID) async throws -> [ItemName] { try await base.itemNames(of: id) }
    func stagedKeyslot(of id: AccountID) async throws -> Keyslot? { try await base.stagedKeyslot(of: id) }
    func withRecord<R: Sendable>(
        _ name: String, _ change: @escaping @Sendable (inout [UInt8]?) throws -> R
    ) async throws -> R {
        try beforeRecord(name)
        return try await base.withRecord(name, change)
    }
    func withLock<R: Sendable>(on id: AccountID, _ body: @Sendable (AccountLock) async throws -> R) async throws -> R {
        try await beforeLocking()
        return try await base.withLock(on: id, body)
    }
    func usesKey(_ keyID: String) async throws -> Bool { try await base.usesKey(keyID) }
    func checkWritable() async throws { try await base.checkWritable() }
}

extension [StoreChange] {
    /// Whether this is the commit of a refresh or registration.
    var storesRefreshToken: Bool {
        contains { if case .putItem(.refreshToken, _) = $0 { true } else { false } }
    }
    var beginsRefresh: Bool {
        contains { if case .beginRefresh = $0 { true } else { false } }
    }
    var activatesKeyslot: Bool {
        contains { if case .activateKeyslot = $0 { true } else { false } }
    }
}

/// A key service that fails from its `failingCall`-th call on.
final class FailingKeyService: KeyService {
    private let base: any KeyService
    private let failingCall: Int
    private let calls = Lock(0)

    init(_ base: any KeyService, failingCall: Int) {
        self.base = base
        self.failingCall = failingCall
    }

    func createKey(secret: borrowing SecretBytes) async throws -> ReleasedKey {
        try count()
        return try await base.createKey(secret: secret)
    }

    func releaseKey(id: String, secret: borrowing SecretBytes, kind: KeySecretKind) async throws -> ReleasedKey {
        try count()
        return try await base.releaseKey(id: id, secret: secret, kind: kind)
    }

    func checkReachable() async throws { try await base.checkReachable() }

    func endKey(id: String) async throws {
        try count()
        try await base.endKey(id: id)
    }

    private func count() throws {
        let call = calls.withLock { calls in
            calls += 1
            return calls
        }
        if call >= failingCall { throw KeyServiceError(.unavailable, "The key service does not answer.") }
    }
}

/// A transport that replaces words in requests.
struct RewritingTransport: HTTPTransport {
    private let base = AsyncHTTPTransport()
    let rewrite: @Sendable (String) -> String

    func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer {
        let text = rewrite(String(decoding: body, as: UTF8.self))
        return try await base.send(request, body: Array(text.utf8), limits: limits)
    }
}
