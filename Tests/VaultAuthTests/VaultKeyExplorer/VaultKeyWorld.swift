import CredentialVault
import Foundation
import TestSupport
import VaultBase
import VaultTesting

@testable import VaultAuth
@testable import VaultStorage
@testable import VaultUnlock

/// Two or three programs of one person that use the same account at the same time, and replace its vault key. Answers
/// get lost, calls are cancelled, and a program may crash.
final class VaultKeyWorld: World {
    enum Loss { case keyServiceAnswer, providerAnswer }

    private struct State {
        var plans: [[PlannedCall]]
        var losses: Set<Loss> = []
        /// The tokens that the provider issued, and those of them that were stored.
        var tokens = (issued: 0, stored: 0)
        /// The programs that replaced the vault key, and the unlock method that each kept.
        var replacements: [(life: Life, kept: Keyslot.Kind?)] = []
        var notes: [ItemName: ItemHistory] = [:]
        var keys: [VaultKey] = []
    }

    let processes: Int
    let crashTakesAll = false
    let worksElsewhere = true
    /// Whether the key service ends keys that nobody claims with an access token.
    let claimsKeys: Bool

    let clock = ManualClock()
    let provider: FakeProvider
    let service: InMemoryOPRFKeyService
    let hardware: ScriptedHardwareKey
    let locks = SteppedLocks()
    let id: AccountID
    /// The store without steps.
    let store: any SecureStore
    private let makeStore: @Sendable () throws -> any SecureStore
    private let state: Lock<State>

    /// - Parameter folder: the folder of a store on disk; nil for one in memory.
    init(seed: UInt64, folder: String?) async throws {
        var random = SeededGenerator(state: ~seed)
        let count = Int.random(in: 2...3, using: &random)
        processes = count
        claimsKeys = seed % 4 > 1
        state = Lock(
            State(plans: (0..<count).map { _ in (0..<5).map { _ in PlannedCall(using: &random) } }))
        if let folder {
            makeStore = { try SQLiteStore(folder: folder) }
            store = try SQLiteStore(folder: folder)
        } else {
            let memory = InMemoryStore()
            makeStore = { memory }
            store = memory
        }
        provider = FakeProvider(clock: clock)
        // Guesses are the subject of other tests.
        service = InMemoryOPRFKeyService(maxGuesses: 100, busyTime: 0, now: { [clock] in clock.now })
        if claimsKeys {
            service.endsUnclaimedKeys = true
            service.accessTokenOwner = { [provider] in provider.owner(ofAccessToken: $0) }
        }
        hardware = try ScriptedHardwareKey(pin: "123456")
        id = AccountID(issuer: provider.issuer, subject: "alice")
        let program = PersonsProgram(self, nil, store)
        let token = try await program.auth.signIn(provider.signIn("alice"))
        let session = try await Storage(accounts: program.accounts, auth: program.auth, issuer: nil).storeRefreshToken(
            token, withNewPassword: SecretBytes(utf8: PersonsProgram.password), alias: nil, replacingItems: false)
        try await session.addHardware(hardware, prompt: ScriptedPrompt("123456"))
        noteKey(try await session.openVaultKey())
        await program.end()
    }

    func live(_ life: Life) async {
        do {
            let program = PersonsProgram(self, life, try makeStore())
            while life.isAlive, let call = nextCall(of: life.process) { await program.perform(call) }
            await program.end()
        } catch {
            life.run.complain("\(error)")
        }
    }

    func ended(_ lives: [Life]) { locks.end(of: lives) }

    private func nextCall(of process: Int) -> PlannedCall? {
        state.withLock { $0.plans[process].isEmpty ? nil : $0.plans[process].removeFirst() }
    }

    // MARK: - Events

    func loses(_ loss: Loss, _ life: Life) -> Bool {
        guard life.run.choose(25) == 0 else { return false }
        life.run.note("\(life.process): \(loss) is lost")
        state.withLock { _ = $0.losses.insert(loss) }
        return true
    }

    func hasLost(_ loss: Loss) -> Bool { state.withLock { $0.losses.contains(loss) } }

    func tokenWasIssued() { state.withLock { $0.tokens.issued += 1 } }
    func tokenWasStored() { state.withLock { $0.tokens.stored += 1 } }
    /// Whether an issued token did not reach the store, because its answer was lost or its program crashed.
    var hasLostToken: Bool { state.withLock { $0.tokens.issued > $0.tokens.stored } }

    func vaultKeyWasReplaced(by life: Life) async {
        let kept = try? await store.account(id)?.keyslots.first?.kind
        life.run.note("\(life.process): the vault key is new, with the \(kept?.rawValue ?? "nothing")")
        state.withLock { $0.replacements.append((life, kept)) }
    }

    /// The number of replacements, by one life or by all.
    func replacements(by life: Life? = nil) -> Int {
        state.withLock { state in state.replacements.count { life == nil || $0.life === life } }
    }

    /// The unlock method that the last replacement kept.
    var keptMethod: Keyslot.Kind { state.withLock { $0.replacements.last?.kept ?? .password } }

    func noteKey(_ vaultKey: VaultKey) { state.withLock { $0.keys.append(vaultKey) } }
    var keys: [VaultKey] { state.withLock { $0.keys } }

    /// Calls `change` with what is known about an item.
    func note<R>(_ item: ItemName, _ change: (inout ItemHistory) -> R) -> R {
        state.withLock { change(&$0.notes[item, default: ItemHistory()]) }
    }
    var items: [ItemName: ItemHistory] { state.withLock { $0.notes } }
}
