public import Foundation
public import KeyServiceClient
internal import VaultBase
public import VaultCrypto

/// A key service in memory, with the real rules for clients that renew. Wrong secrets lock a key, and the right one
/// does not set the count back. Wrong long secrets are not counted.
public final class InMemoryKeyService: KeyService {
    private final class Key: Sendable {
        let secret: SecretBytes
        let key: SecretBytes
        let longSecret: SecretBytes

        init(secret: consuming SecretBytes) throws {
            self.secret = secret
            key = try SecretBytes.random(count: 32)
            longSecret = try SecretBase64.encode(SecretBytes.random(count: 32), .urlSafe)
        }

        func released(_ id: String, _ wrongGuesses: WrongGuesses? = nil) throws -> ReleasedKey {
            try ReleasedKey(id: id, key: key.copy(), longSecret: longSecret.copy(), wrongGuesses: wrongGuesses)
        }
    }

    private struct Guesses {
        var wrong = 0
        var total = 0
        var last: Date?
        var isEnded = false
    }

    private struct State {
        var keys: [String: Key] = [:]
        var guesses: [String: Guesses] = [:]
        var isReachable = true
        var calls = 0
    }

    private let state = Lock(State())
    private let maxGuesses: Int
    private let maxGuessesTotal: Int
    private let now: @Sendable () -> Date

    /// - Parameters:
    ///   - maxGuesses: the number of wrong secrets in a row that lock a key.
    ///   - maxGuessesTotal: the number of wrong secrets in a key's whole life that lock it.
    ///   - now: the time, for ``WrongGuesses/last``.
    public init(maxGuesses: Int = 3, maxGuessesTotal: Int = 100, now: @escaping @Sendable () -> Date = { Date() }) {
        self.maxGuesses = maxGuesses
        self.maxGuessesTotal = maxGuessesTotal
        self.now = now
    }

    /// Whether it answers. Set it to false to simulate an outage.
    public var isReachable: Bool {
        get { state.withLock { $0.isReachable } }
        set { state.withLock { $0.isReachable = newValue } }
    }

    /// The number of calls that made or asked for a key.
    public var calls: Int { state.withLock { $0.calls } }

    /// The keys that some secret can still release.
    public var liveKeys: Set<String> {
        state.withLock { state in Set(state.keys.keys.filter { !isLocked($0, in: state) }) }
    }

    /// Forgets every key.
    public func deleteAllKeys() {
        state.withLock { $0.keys = [:] }
    }

    /// Makes a new key and long secret.
    ///
    /// - Throws: ``KeyServiceError`` with code `unavailable` while ``isReachable`` is false.
    public func createKey(secret: borrowing SecretBytes) async throws -> ReleasedKey {
        let key = try Key(secret: secret.copy())
        let id = UUID().uuidString
        try state.withLock { state in
            try Self.call(&state)
            state.keys[id] = key
        }
        return try key.released(id)
    }

    /// Gives a key for the right secret, and counts wrong ones.
    ///
    /// - Throws: ``KeyServiceError``: `wrongSecret`, `keyLocked`, `noSuchKey`; `unavailable` while ``isReachable`` is
    ///   false.
    public func releaseKey(
        id: String, secret: borrowing SecretBytes, kind: KeySecretKind
    ) async throws -> ReleasedKey {
        let key = try state.withLock { state in
            try Self.call(&state)
            guard let key = state.keys[id] else { throw KeyServiceError(.noSuchKey, "There is no such key.") }
            return key
        }
        switch kind {
        case .secret:
            let wrongGuesses = try evaluate(id, isRight: key.secret.isEqual(to: secret))
            return try key.released(id, wrongGuesses)
        case .longSecret:
            let wrongGuesses = try evaluateLong(id, isRight: key.longSecret.isEqual(to: secret))
            return try key.released(id, wrongGuesses)
        }
    }

    /// Returns if ``isReachable`` is true.
    ///
    /// - Throws: ``KeyServiceError`` with code `unavailable`.
    public func checkReachable() async throws {
        guard isReachable else { throw Self.outage }
    }

    /// Ends a key. It does not count as one of the ``calls``.
    ///
    /// - Throws: ``KeyServiceError`` with code `unavailable` while ``isReachable`` is false.
    public func endKey(id: String) async throws {
        try state.withLock { state in
            guard state.isReachable else { throw Self.outage }
            state.guesses[id, default: Guesses()].isEnded = true
        }
    }

    private func evaluate(_ id: String, isRight: Bool) throws -> WrongGuesses? {
        try state.withLock { state in
            guard !isLocked(id, in: state) else { throw Self.locked }
            var guesses = state.guesses[id, default: Guesses()]
            if isRight { return Self.wrongGuesses(guesses) }
            guesses.wrong += 1
            guesses.total += 1
            guesses.last = now()
            state.guesses[id] = guesses
            let remaining = min(maxGuesses - guesses.wrong, maxGuessesTotal - guesses.total)
            throw KeyServiceError(.wrongSecret, "The secret is wrong.", guessesRemaining: remaining)
        }
    }

    /// Evaluates a long secret. A wrong one is not counted, as nobody can guess it. The right one sets the count back.
    private func evaluateLong(_ id: String, isRight: Bool) throws -> WrongGuesses? {
        try state.withLock { state in
            guard !isLocked(id, in: state) else { throw Self.locked }
            guard isRight else { throw KeyServiceError(.wrongSecret, "The long secret is wrong.") }
            let guesses = state.guesses[id, default: Guesses()]
            state.guesses[id]?.wrong = 0
            return Self.wrongGuesses(guesses)
        }
    }

    private func isLocked(_ id: String, in state: State) -> Bool {
        let guesses = state.guesses[id, default: Guesses()]
        return guesses.isEnded || guesses.wrong >= maxGuesses || guesses.total >= maxGuessesTotal
    }

    private static func wrongGuesses(_ guesses: Guesses) -> WrongGuesses? {
        guesses.wrong > 0 ? WrongGuesses(count: guesses.wrong, last: guesses.last) : nil
    }

    private static let outage = KeyServiceError(.unavailable, "The key service does not answer.")
    private static let locked = KeyServiceError(.keyLocked, "The key is locked.")

    private static func call(_ state: inout State) throws {
        guard state.isReachable else { throw outage }
        state.calls += 1
    }
}
