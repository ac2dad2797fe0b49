import Foundation
import KeyServiceClient
import TestSupport
import Testing
import VaultBase
import VaultCrypto
import VaultStorage
import VaultStorageTestSupport
import VaultTesting
import VaultUnlock

/// A machine whose key service has protocol version 2.
struct OPRFFixture {
    static let password = "tea at half past four"
    static let url = "https://keys.example.com"
    /// The evaluation that proves that the service has finished a new key.
    static let evaluationsOfNewKey = 1

    let clock: ManualClock
    let store: any SecureStore
    let service: InMemoryOPRFKeyService
    /// The same service with version 1.
    let first: InMemoryKeyService
    let accounts: Accounts
    let told = Told()

    init(
        store: any SecureStore = InMemoryStore(), service: InMemoryOPRFKeyService? = nil,
        clock: ManualClock = ManualClock(), policy: VaultPolicy = .standard,
        first: InMemoryKeyService = InMemoryKeyService(), newAccountProtocol: Int = 2,
        wrapped: (@Sendable (InMemoryOPRFKeyService) -> any OPRFKeyService)? = nil
    ) {
        let service = service ?? InMemoryOPRFKeyService(now: { clock.now })
        let used = wrapped?(service) ?? service
        (self.clock, self.store, self.service, self.first) = (clock, store, service, first)
        var accounts = Accounts(
            store: store, clock: clock, argon2: .insecureForTests, offlineCost: .insecureForTests, policy: policy,
            keyServiceURL: Self.url, timer: ShortWaits(),
            services: KeyServices(released: { _ in first }, oprf: { _ in used }))
        accounts.newAccountProtocol = newAccountProtocol
        // A busy machine must not use up a limit that the clock shortens.
        accounts.timeout *= ShortWaits.factor
        self.accounts = accounts
        accounts.onNotice { [told] in told.add($0) }
    }

    /// The same machine after a restart of the program, or with another program.
    func restarted(
        policy: VaultPolicy = .standard,
        wrapped: (@Sendable (InMemoryOPRFKeyService) -> any OPRFKeyService)? = nil
    ) -> OPRFFixture {
        OPRFFixture(store: store, service: service, clock: clock, policy: policy, first: first, wrapped: wrapped)
    }

    @discardableResult
    func register(replacingItems: Bool = false) async throws -> VaultKey {
        let token = SignInResult(
            Credential(value: "refresh token", scope: "openid"),
            account: AccountID(issuer: issuer, subject: "alice"), clientID: "app",
            identity: .init(email: nil, preferredUsername: nil, name: nil, claimsJSON: Array("{}".utf8)),
            accessToken: nil)
        return try await accounts.register(
            token, newPassword: SecretBytes(utf8: Self.password), alias: nil, replacingItems: replacingItems)
    }

    func account() async throws -> Account { try await accounts.find("alice") }

    func slot(_ kind: Keyslot.Kind = .password) async throws -> Keyslot {
        try #require(try await account().keyslot(kind))
    }

    /// - Returns: the notice for the person; nil for none.
    @discardableResult
    func login(_ password: String = password) async throws -> AccountNotice? {
        try await login(with: .password(SecretBytes(utf8: password)))
    }

    @discardableResult
    func login(with method: UnlockMethod) async throws -> AccountNotice? {
        let opened = try await accounts.opened(account(), with: method)
        await accounts.finishConfirming()
        return opened.wrongGuesses
    }

    /// The code of the error of a login; nil if the account opened.
    func failure(
        _ password: String = password, sourceLocation: SourceLocation = #_sourceLocation
    ) async -> VaultError.Code? {
        await failure(sourceLocation: sourceLocation) { try await login(password) }
    }

    func failure(
        sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
    ) async -> VaultError.Code? {
        await thrown(\VaultError.code, sourceLocation: sourceLocation, body)
    }

    /// A thief's program on a copy of the account and its keyslots.
    func thief() async throws -> OPRFFixture { try await copied() }

    /// A program on a copy of the account and its keyslots.
    func copied() async throws -> OPRFFixture {
        let (copy, account) = (InMemoryStore(), try await account())
        try await copy.apply(
            [.putAccount(account)] + account.keyslots.map { .putKeyslot($0) }, to: account.id)
        return OPRFFixture(store: copy, service: service, clock: clock)
    }

    /// The key ids of the account's keyslots.
    func keys() async throws -> Set<String> { Set(try await account().keyslots.map(\.keyID)) }
}

/// A clock that waits a fiftieth of the time.
struct ShortWaits: Clock {
    static let factor = 50

    var now: ContinuousClock.Instant { ContinuousClock.now }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        try await ContinuousClock().sleep(for: now.duration(to: deadline) / Self.factor)
    }
}

/// The notices that a person got.
final class Told: Sendable {
    private let all = Lock<[AccountNotice]>([])
    var notices: [AccountNotice] { all.withLock { $0 } }
    func add(_ notice: AccountNotice) { all.withLock { $0.append(notice) } }
}

/// A key service that passes each call on, unless a conformer does something else.
protocol WrappedOPRFService: OPRFKeyService {
    var base: any OPRFKeyService { get }
}

extension WrappedOPRFService {
    func protocolVersions() async throws -> Set<Int> { try await base.protocolVersions() }
    func createKey(_ key: NewOPRFKey) async throws -> FirstEvaluation { try await base.createKey(key) }
    func evaluate(
        _ id: String, _ blinded: RistrettoElement, requestKey: borrowing SecretBytes, at date: Date
    ) async throws -> Evaluation {
        try await base.evaluate(id, blinded, requestKey: requestKey, at: date)
    }
    func confirm(_ confirmation: KeyConfirmation) async throws { try await base.confirm(confirmation) }
    func endKey(id: String, signature: [UInt8]) async throws { try await base.endKey(id: id, signature: signature) }
}
