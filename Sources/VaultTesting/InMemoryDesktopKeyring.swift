internal import VaultBase
public import VaultBiometric
public import VaultCrypto

/// The keyring of a desktop in memory, for an app's own tests. A test can lock it, take it away, let its window wait,
/// and change its secrets.
public final class InMemoryDesktopKeyring: DesktopKeyring {
    /// The person's answer when a locked keyring asks in its window.
    @nonexhaustive
    public enum Answer: Sendable, Hashable {
        /// The person types the password of the keyring, so it is unlocked.
        case unlocks
        /// The person closes the window, so the keyring stays locked.
        case closes
    }

    private struct State {
        var secrets: [String: [SharedSecret]] = [:]
        var isLocked = false
        var isThere = true
        var answer = Answer.unlocks
        var questions = 0
    }

    private let state = Lock(State())
    private let gate = Gate()

    /// Makes an empty keyring that is unlocked.
    public init() {}

    // MARK: - What happens to it

    /// Whether it is locked, as before the login to the desktop.
    public var isLocked: Bool {
        get { state.withLock { $0.isLocked } }
        set { state.withLock { $0.isLocked = newValue } }
    }

    /// Whether there is a keyring. Set it to false for a machine without a desktop.
    public var isThere: Bool {
        get { state.withLock { $0.isThere } }
        set { state.withLock { $0.isThere = newValue } }
    }

    /// What the person does when the keyring asks to be unlocked.
    public var answer: Answer {
        get { state.withLock { $0.answer } }
        set { state.withLock { $0.answer = newValue } }
    }

    /// The number of questions to the person so far.
    public var questions: Int { state.withLock { $0.questions } }

    /// The number of secrets that it keeps.
    public var count: Int { state.withLock { $0.secrets.values.reduce(0) { $0 + $1.count } } }

    /// Deletes all secrets, as a person can do who resets the keyring.
    public func deleteAllSecrets() { state.withLock { $0.secrets = [:] } }

    /// Puts another secret before each one, as after a merge of two keyrings.
    ///
    /// - Parameter keepsOld: whether the old secrets stay.
    public func addOtherSecrets(keepsOld: Bool = true) throws {
        let other = SharedSecret(try SecretBytes.random(count: 32))
        state.withLock { state in
            state.secrets = state.secrets.mapValues { keepsOld ? [other] + $0 : [other] }
        }
    }

    /// Makes every question wait for the person, until ``resume()`` or until its task is cancelled.
    public func hang() { gate.close() }

    /// Lets waiting questions continue.
    public func resume() { gate.open() }

    /// Returns when a question waits because of ``hang()``.
    public func waitUntilHanging() async { await gate.waitForWaiter() }

    // MARK: - DesktopKeyring

    /// Tells whether it could give the secret now, without a question.
    public func availability(of id: String?) async -> BiometricAvailability {
        state.withLock { state in
            guard state.isThere else { return .missing }
            if let id, state.secrets[id] == nil { return .missing }
            return state.isLocked ? .lockedOut(for: nil) : .available
        }
    }

    /// Keeps a secret. If the keyring is locked, it asks the person.
    ///
    /// - Throws: ``BiometricError``: `hardwareMissing`, `lockedOut`; `cancelled` when the task is cancelled.
    public func store(_ secret: SharedSecret, as id: String) async throws {
        try await unlock()
        state.withLock { $0.secrets[id, default: []].append(secret) }
    }

    /// Returns the secrets under an id. If the keyring is locked and has some, it asks the person.
    ///
    /// - Throws: as ``store(_:as:)``.
    public func secrets(of id: String) async throws -> [SharedSecret] {
        guard case .lockedOut = await availability(of: id) else {
            guard isThere else { throw Self.missing }
            return state.withLock { $0.secrets[id] ?? [] }
        }
        try await unlock()
        return state.withLock { $0.secrets[id] ?? [] }
    }

    /// Removes the secrets under an id, unless the keyring is locked.
    public func remove(_ id: String) async throws {
        guard isThere else { throw Self.missing }
        state.withLock { state in
            if !state.isLocked { state.secrets[id] = nil }
        }
    }

    private static let missing = BiometricError(.hardwareMissing, "There is no desktop keyring here.")

    private func unlock() async throws {
        guard isThere else { throw Self.missing }
        let isAsked = state.withLock { state in
            if state.isLocked { state.questions += 1 }
            return state.isLocked
        }
        guard isAsked else { return }
        try await gate.pass()
        try state.withLock { state in
            guard state.answer == .unlocks else { throw BiometricError(.lockedOut, "The desktop keyring is locked.") }
            state.isLocked = false
        }
    }
}
