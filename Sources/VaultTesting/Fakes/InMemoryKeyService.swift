internal import Foundation
public import KeyService
public import VaultCrypto
internal import VaultLocks

/// A key service in memory, with the real one's rules: three wrong guesses in a row lock a key.
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
    }

    private struct State {
        var keys: [String: Key] = [:]
        var wrongGuesses: [String: Int] = [:]
        var isReachable = true
        var calls = 0
    }

    private let state = Lock(State())
    private let maxGuesses: Int

    /// - Parameter maxGuesses: how many wrong guesses in a row lock a key.
    public init(maxGuesses: Int = 3) {
        self.maxGuesses = maxGuesses
    }

    /// Whether it answers at all. Set it to false to play an outage.
    public var isReachable: Bool {
        get { state.withLock { $0.isReachable } }
        set { state.withLock { $0.isReachable = newValue } }
    }

    /// How often a key was made or asked for.
    public var calls: Int { state.withLock { $0.calls } }

    /// Forgets every key.
    public func deleteAllKeys() {
        state.withLock { $0.keys = [:] }
    }

    public func createKey(secret: borrowing SecretBytes) async throws -> ReleasedKey {
        let key = try Key(secret: secret.copy())
        let id = UUID().uuidString
        try state.withLock { state in
            try Self.call(&state)
            state.keys[id] = key
        }
        return try ReleasedKey(id: id, key: key.key.copy(), longSecret: key.longSecret.copy())
    }

    public func releaseKey(
        id: String, secret: borrowing SecretBytes, kind: KeySecretKind
    ) async throws -> ReleasedKey {
        let key = try state.withLock { state in
            try Self.call(&state)
            guard let key = state.keys[id] else { throw KeyServiceError(.noSuchKey, "There is no such key.") }
            return key
        }
        let isRight =
            switch kind {
            case .secret: key.secret.isEqual(to: secret)
            case .longSecret: key.longSecret.isEqual(to: secret)
            }
        try state.withLock { state in
            let wrong = state.wrongGuesses[id, default: 0]
            guard wrong < maxGuesses else { throw KeyServiceError(.keyLocked, "The key is locked.") }
            state.wrongGuesses[id] = isRight ? 0 : wrong + 1
            if !isRight {
                throw KeyServiceError(.wrongSecret, "The secret is wrong.", guessesRemaining: maxGuesses - wrong - 1)
            }
        }
        return try ReleasedKey(id: id, key: key.key.copy(), longSecret: key.longSecret.copy())
    }

    public func checkReachable() async throws {
        guard isReachable else { throw Self.outage }
    }

    private static let outage = KeyServiceError(.unavailable, "The key service does not answer.")

    private static func call(_ state: inout State) throws {
        guard state.isReachable else { throw outage }
        state.calls += 1
    }
}
