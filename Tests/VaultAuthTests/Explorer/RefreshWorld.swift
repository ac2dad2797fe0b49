import CredentialVault
import Foundation
import OpenIDConnect
import Testing
import VaultBase
import VaultTesting

@testable import VaultAuth
@testable import VaultStorage

/// Two programs that refresh the same account's token. Their provider rotates the token, and ends all of the account's
/// tokens if it sees an old token again.
final class RefreshWorld: World {
    /// A fault that is put back into the product, to check that the explorer finds it.
    enum Fault { case letsGoOfTheLock }

    let processes = 2
    let crashTakesAll = false

    private struct State {
        var current = "R1"
        var isRevoked = false
        /// The users of a token, and the answers that they got.
        var uses: [String: (life: Life, successor: String)] = [:]
        var failuresLeft: Int
        /// The holder of the account's lock.
        var holder: (life: Life, number: Int)?
        var lockCount = 0
        var memories: [ObjectIdentifier: (life: Life, unstored: UnstoredTokens)] = [:]
        var sawInterruption = false
    }

    private static let id = AccountID(issuer: "https://id.example.com", subject: "alice")
    private static let vaultKey = Result { try VaultKey.random() }
    private static let clock = ManualClock()

    private let base = InMemoryStore()
    private let fault: Fault?
    private let state: Lock<State>

    /// - Parameter failures: the greatest number of failed writes. Each fails as on a full disk.
    init(failures: Int, fault: Fault? = nil) {
        state = Lock(State(failuresLeft: failures))
        self.fault = fault
    }

    private func items() throws -> TokenItems {
        TokenItems(store: base, id: Self.id, vaultKey: try Self.vaultKey.get())
    }

    // MARK: - The programs

    func live(_ life: Life) async {
        let unstored = UnstoredTokens(retryClock: nil)
        state.withLock { $0.memories[ObjectIdentifier(life)] = (life, unstored) }
        do {
            try await makeAccount()
            let store = Store(world: self, base: base, life: life)
            let account = try #require(try await base.account(Self.id))
            let transaction = RefreshTransaction(
                id: Self.id, vaultKey: try Self.vaultKey.get(), store: store, unstored: unstored,
                issuer: Issuer(world: self, life: life),
                source: IssuerSource(key: IssuerKey(account), layout: nil),
                isWanted: { true }, clock: Self.clock)
            // A person whose disk was full tries again.
            for _ in 0..<2 {
                let error = await failure {
                    _ = try await transaction.run(.init(force: true, minimumValidity: .zero, at: Self.clock.now))
                }
                if error?.code == .refreshInterrupted { state.withLock { $0.sawInterruption = true } }
                guard error?.code == .storeUnreadable else { break }
            }
        } catch {
            life.run.complain("\(error)")
        }
    }

    /// The error of the vault that `body` throws; nil also if the program crashed.
    private func failure(_ body: () async throws -> Void) async -> VaultError? {
        do {
            try await body()
            return nil
        } catch {
            return VaultError.converting(error) as? VaultError
        }
    }

    private func makeAccount() async throws {
        guard try await base.account(Self.id) == nil else { return }
        let account = Account(
            id: Self.id, clientID: "vault-cli", keyServiceURL: "https://keys.example.com", deviceSecret: [],
            createdAt: Self.clock.now)
        try await base.apply([.putAccount(account), items().put(Credential(value: "R1"))], to: Self.id)
    }

    func ended(_ lives: [Life]) {
        state.withLock { state in
            if lives.contains(where: { $0 === state.holder?.life }) { state.holder = nil }
        }
    }

    func judge(_ run: Run) async {
        do {
            let stored = try await items().credential()?.value
            let hasMark = try await base.account(Self.id)?.refreshStartedAt != nil
            state.withLock { state in
                guard !state.isRevoked, stored != state.current else { return }
                if state.memories.values.contains(where: { $0.life.isAlive && $0.unstored.holds(Self.id) }) { return }
                // The process that got the answer crashed. No program can prevent that, but the person must be told.
                let wasCutOff = state.uses.values.contains { $0.successor == state.current && !$0.life.isAlive }
                if !wasCutOff { run.complain("\(state.current) is lost.") }
                if wasCutOff && !hasMark && !state.sawInterruption { run.complain("Nobody is told of the crash.") }
            }
        } catch {
            run.complain("\(error)")
        }
    }

    // MARK: - The provider

    private struct Issuer: TokenIssuer {
        let world: RefreshWorld
        let life: Life

        func warmUp() async {}
        func revoke(_ credential: Credential, of id: AccountID) async throws {}

        func renew(
            _ credential: Credential, of id: AccountID, keep: (Credential) async throws -> Void
        ) async throws -> TokenSet {
            try await life.step("send \(credential.value)")
            let successor = await world.exchange(credential.value, by: life)
            try await life.step("answer \(successor ?? "no")")
            guard let successor else {
                throw OpenIDConnectError(.invalidGrant, "Used before.", providerError: "invalid_grant")
            }
            try await keep(Credential(value: successor))
            try await life.step("check")
            return TokenSet(accessToken: "A of \(successor)", refreshToken: successor)
        }
    }

    private func exchange(_ token: String, by life: Life) async -> String? {
        let stored = try? await items().credential()?.value
        return state.withLock { state in
            guard state.uses[token] == nil else {
                state.isRevoked = true
                // If a process crashed before the answer was stored, the programs have no other way to find out.
                if let first = state.uses[token], first.life.isAlive || stored != token {
                    life.run.complain("\(token) is used twice.")
                }
                return nil
            }
            guard token == state.current, !state.isRevoked else { return nil }
            state.current = "R\(state.uses.count + 2)"
            state.uses[token] = (life, state.current)
            return state.current
        }
    }

    // MARK: - The store

    private struct Store: SecureStore {
        let world: RefreshWorld
        let base: InMemoryStore
        let life: Life

        func apply(_ changes: [StoreChange], to id: AccountID) async throws {
            try await life.step("write")
            try world.failIfChosen(life)
            try await base.apply(changes, to: id)
        }

        func withLock<R: Sendable>(
            on id: AccountID, _ body: @Sendable (AccountLock) async throws -> R
        ) async throws -> R {
            guard try await life.step("lock", when: { [world] in world.isFree }) else {
                throw StoreError(.busy, "Somebody else has the lock.")
            }
            let (lock, number) = world.lock(by: life)
            defer { if world.fault == .letsGoOfTheLock { world.unlock(number) } }
            return try await body(lock)
        }

        func account(_ id: AccountID) async throws -> Account? {
            try await life.step("read account")
            return try await base.account(id)
        }
        func item(_ name: ItemName, of id: AccountID) async throws -> [UInt8]? {
            try await life.step("read \(name)")
            return try await base.item(name, of: id)
        }

        // The transaction uses none of these.
        func accounts() async throws -> [Account] { [] }
        func accounts(named name: String) async throws -> [Account] { [] }
        func chunk(_: Int, ofItem: ItemName, head: [UInt8], of: AccountID) async throws -> [UInt8]? { nil }
        func itemNames(of id: AccountID) async throws -> [ItemName] { [] }
        func stagedKeyslot(of id: AccountID) async throws -> Keyslot? { nil }
        func withRecord<R: Sendable>(
            _ name: String, _ change: @escaping @Sendable (inout [UInt8]?) throws -> R
        ) async throws -> R { try await base.withRecord(name, change) }
        func checkWritable() async throws {}
    }

    private var isFree: Bool { state.withLock { $0.holder == nil } }

    private func lock(by life: Life) -> (AccountLock, Int) {
        let number = state.withLock { state in
            state.lockCount += 1
            state.holder = (life, state.lockCount)
            return state.lockCount
        }
        return (AccountLock { [weak self] in self?.unlock(number) }, number)
    }

    private func unlock(_ number: Int) {
        state.withLock { if $0.holder?.number == number { $0.holder = nil } }
    }

    private func failIfChosen(_ life: Life) throws {
        guard state.withLock({ $0.failuresLeft > 0 }), life.run.choose(2) == 1 else { return }
        life.run.note("\(life.process): the disk is full")
        state.withLock { $0.failuresLeft -= 1 }
        throw StoreError(.unreadable, "The disk is full.")
    }
}
