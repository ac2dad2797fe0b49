import CredentialVault
import Foundation
import Testing
import VaultAuth
import VaultBase
import VaultDevelopment
import VaultStorage
import VaultTesting

/// The kinds of keyslots whose secret a person types.
enum TypedKind: String, CaseIterable {
    case password, pin, recovery

    /// Makes sure that alice has a keyslot of this kind, and returns the way to open it.
    func added(to fixture: Fixture) async throws -> UnlockMethod {
        switch self {
        case .password: return try .password(SecretBytes(utf8: Fixture.password))
        case .pin:
            try await fixture.addPIN()
            return try .pin(Fixture.pin)
        case .recovery: return .recoveryCode(try await fixture.addRecoveryCode())
        }
    }

    func wrong() throws -> UnlockMethod {
        switch self {
        case .password: try .password(SecretBytes(utf8: "not the password"))
        case .pin: try .pin("9999")
        case .recovery: .recoveryCode(SharedSecret(try RecoveryCode.random()))
        }
    }

    var kind: Keyslot.Kind { Keyslot.Kind(rawValue: rawValue) }
}

/// A thief with a copy of the store, who guesses at the same key service.
struct Thief {
    let store = InMemoryStore()
    let accounts: Accounts
    let account: Account

    /// - Parameter account: the account at the time of the copy.
    init(
        copying account: Account, keyService: any KeyService, oprf: (any OPRFKeyService)? = nil,
        clock: ManualClock = ManualClock()
    ) async throws {
        self.account = account
        let slots = account.keyslots.map { StoreChange.putKeyslot($0) }
        try await store.apply([.putAccount(account)] + slots, to: account.id)
        accounts = Accounts(
            store: store, clock: clock, argon2: .insecureForTests, policy: .standard,
            keyServiceURL: account.keyServiceURL,
            services: KeyServices(released: { _ in keyService }, oprf: { _ in oprf }))
    }

    /// - Returns: whether the key service evaluated the guess.
    func guess(_ method: UnlockMethod) async throws -> Bool {
        let error = await failure { _ = try await accounts.open(account, with: method) }
        #expect([.wrongSecret, .keyLocked].contains(error?.code), "\(String(describing: error))")
        return error?.code == .wrongSecret
    }
}

/// After one guess, a thief must need a new copy of the store.
@Suite(.timeLimit(.minutes(2))) struct RenewalTests {
    @Test(arguments: TypedKind.allCases)
    func `when the owner logs in, then a thief's guesses end`(kind: TypedKind) async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let method = try await kind.added(to: fixture)
            let thief = try await Thief(copying: fixture.account(), keyService: fixture.keyService)
            // The thief's guesses that the service evaluated, before each login.
            var evaluated: [Int] = []
            for _ in 0..<10 {
                evaluated.append(0)
                for _ in 0..<2 where try await thief.guess(kind.wrong()) { evaluated[evaluated.count - 1] += 1 }
                #expect(try await fixture.login(with: method).isOpen)
            }
            #expect(evaluated == [2] + Array(repeating: 0, count: 9), "the first login ends them")
            #expect(try await thief.guess(method) == false, "nor does the right secret open the copy")
            #expect(fixture.keyService.liveKeys == Set(try await fixture.account().keyslots.map(\.keyID)))
        }
    }

    @Test(arguments: TypedKind.allCases)
    func `when a thief guesses, then the next login reports it`(kind: TypedKind) async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let method = try await kind.added(to: fixture)
            let first = try await fixture.login(with: method)
            #expect(first.wrongGuesses == nil)
            let since = fixture.clock.now
            let thief = try await Thief(copying: fixture.account(), keyService: fixture.keyService)
            let updates = fixture.vault.auth.sessionUpdates
            fixture.clock.advance(by: 3600)
            _ = try await thief.guess(kind.wrong())
            // One more wrong guess, from the owner. The owner knows about this guess.
            _ = await failure { _ = try await fixture.login(with: kind.wrong()) }
            let session = try await fixture.login(with: method)
            let notice = try #require(session.wrongGuesses)
            #expect(notice.code == .wrongGuesses && notice.keyslot == kind.kind && notice.count == 1)
            #expect(notice.since == since && notice.last != nil && notice.isRenewed)
            #expect(notice.description.hasPrefix("1 wrong \(kind.kind.displayName) was tried since "))
            let update = await updates.first { $0.event == .wrongGuesses }
            #expect(update?.notice == notice)
            #expect(try await fixture.login(with: method).wrongGuesses == nil, "it is told once")
        }
    }

    @Test func `when the owner guesses wrong, then no notice appears`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let before = try await fixture.account().keyslots[0]
            for _ in 0..<2 { _ = await failure { try await fixture.login(password: "a slip") } }
            #expect(try await fixture.login().wrongGuesses == nil)
            let after = try await fixture.account().keyslots[0]
            #expect(after.id != before.id && after.keyID != before.keyID && after.salt != before.salt)
            #expect(after.createdAt == before.createdAt && after.kind == .password)
            // The renewal also removed the note.
            let thief = try await Thief(copying: fixture.account(), keyService: fixture.keyService)
            _ = try await thief.guess(TypedKind.password.wrong())
            #expect(try await fixture.login().wrongGuesses?.count == 1)
        }
    }

    @Test func `when no login came before, then notices mention none`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let thief = try await Thief(copying: fixture.account(), keyService: fixture.keyService)
            for _ in 0..<2 { _ = try await thief.guess(TypedKind.password.wrong()) }
            let notice = try #require(try await fixture.login().wrongGuesses)
            #expect(notice.since == nil)
            #expect(notice.description.hasPrefix("2 wrong passwords were tried, the last one at "))
        }
    }

    /// 2: the new key is made, 3: it is tried, 4: the old one is ended.
    @Test(arguments: [2, 3, 4])
    func `when the key service fails midway, then the login works`(failingCall: Int) async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let thief = try await Thief(copying: fixture.account(), keyService: fixture.keyService)
            _ = try await thief.guess(TypedKind.password.wrong())
            let vault = try await fixture.anotherVault(
                keyService: FailingKeyService(fixture.keyService, failingCall: failingCall))
            let session = try await vault.auth.unlock(
                userID: "alice", password: SecretBytes(utf8: Fixture.password))
            #expect(session.wrongGuesses?.count == 1)
            #expect(session.wrongGuesses?.isRenewed == false, "the old key has not ended")
            let isLeft = session.wrongGuesses?.description.contains("Until then an old copy still opens with it.")
            #expect(isLeft == (failingCall == 4))
            #expect(try await fixture.store.stagedKeyslot(of: fixture.id()) == nil)
            // The notice returns as long as the key service reports the wrong guess.
            #expect(try await fixture.login().wrongGuesses?.count == (failingCall == 4 ? nil : 1))
            #expect(try await fixture.login().wrongGuesses == nil)
            #expect(try await thief.guess(.password(SecretBytes(utf8: Fixture.password))) == false)
            #expect(fixture.keyService.liveKeys == Set(try await fixture.account().keyslots.map(\.keyID)))
        }
    }

    @Test func `when the store cannot be written, then the login works`() async throws {
        let store = InMemoryStore()
        try await withFixture(store: store) { fixture in
            try await fixture.register()
            let thief = try await Thief(copying: fixture.account(), keyService: fixture.keyService)
            _ = try await thief.guess(TypedKind.password.wrong())
            store.writeFailure = StoreError(.unreadable, "The disk is full.")
            let session = try await fixture.vault.auth.unlock(
                userID: "alice", password: SecretBytes(utf8: Fixture.password))
            #expect(session.wrongGuesses?.isRenewed == false)
            store.writeFailure = nil
            #expect(try await fixture.login().wrongGuesses?.isRenewed == true)
        }
    }

    @Test(arguments: TypedKind.allCases)
    func `when logins run at once, then no keyslot is lost`(kind: TypedKind) async throws {
        try await withFixtureOnDisk { fixture, folder in
            try await fixture.register()
            let method = try await kind.added(to: fixture)
            for _ in 0..<3 {
                let thief = try await Thief(copying: fixture.account(), keyService: fixture.keyService)
                _ = try await thief.guess(kind.wrong())
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<4 {
                        let vault = try await fixture.anotherVault(store: SQLiteStore(folder: folder))
                        group.addTask { _ = try await vault.auth.unlock(userID: "alice", with: method) }
                    }
                    try await group.waitForAll()
                }
                #expect(try await fixture.login(with: method).isOpen)
                #expect(try await thief.guess(method) == false)
            }
            #expect(try await fixture.vault.accounts.retiredKeys() == [])
            #expect(fixture.keyService.liveKeys == Set(try await fixture.account().keyslots.map(\.keyID)))
        }
    }

    @Test func `when an app's account is stale, then its changes work`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            try await fixture.addPIN()
            try await fixture.addOffline()
            let accounts = try fixture.vault.accounts
            let stale = try await fixture.account()
            let thief = try await Thief(copying: stale, keyService: fixture.keyService)
            _ = try await thief.guess(TypedKind.password.wrong())
            let key = try await accounts.open(stale, with: .password(SecretBytes(utf8: Fixture.password)))
            try await accounts.addOffline(
                password: SharedSecret(SecretBytes(utf8: Fixture.password)), to: stale, vaultKey: key)
            let between = try await fixture.account()
            _ = await failure { try await fixture.login(password: "a slip") }
            try await fixture.login()
            try await accounts.setPassword(SecretBytes(utf8: "a new one for tea"), of: between, vaultKey: key)
            #expect(try await fixture.login(password: "a new one for tea").isOpen)
            #expect(try await fixture.kinds() == ["offline", "password", "pin"])
            #expect(try await fixture.login(with: .offline("a new one for tea")).isOpen)
        }
    }

    @Test func `when another program renews meanwhile, then the slow login opens`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let thief = try await Thief(copying: fixture.account(), keyService: fixture.keyService)
            _ = try await thief.guess(TypedKind.password.wrong())
            // While this program waits for the key service, another program renews the keyslot and ends the key.
            let service = InterruptedKeyService(base: fixture.keyService) { _ = try await fixture.login() }
            let slow = try await fixture.anotherVault(keyService: service)
            let session = try await slow.auth.unlock(
                userID: "alice", password: SecretBytes(utf8: Fixture.password))
            #expect(session.isOpen)
            #expect(try await fixture.login().wrongGuesses == nil, "no guess was counted")
        }
    }
}

/// A key service with a hook before its first release.
private final class InterruptedKeyService: KeyService {
    private let base: any KeyService
    private let interruption: @Sendable () async throws -> Void
    private let isFirst = Lock(true)

    init(base: any KeyService, _ interruption: @escaping @Sendable () async throws -> Void) {
        self.base = base
        self.interruption = interruption
    }

    func createKey(secret: borrowing SecretBytes) async throws -> ReleasedKey {
        try await base.createKey(secret: secret)
    }
    func releaseKey(id: String, secret: borrowing SecretBytes, kind: KeySecretKind) async throws -> ReleasedKey {
        let isFirst = isFirst.withLock { isFirst in
            defer { isFirst = false }
            return isFirst
        }
        if isFirst { try await interruption() }
        return try await base.releaseKey(id: id, secret: secret, kind: kind)
    }
    func checkReachable() async throws { try await base.checkReachable() }
    func endKey(id: String) async throws { try await base.endKey(id: id) }
}
