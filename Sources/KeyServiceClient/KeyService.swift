public import Foundation
public import VaultCrypto
internal import VaultHTTP

/// The remote service that gives out a key for the right secret, and counts wrong guesses.
///
/// A conformer must not retry by itself, as each call costs a guess. It must not keep or log the secret or the key.
/// Any number of tasks may call it at once. It throws only ``KeyServiceError``.
public protocol KeyService: Sendable {
    /// Makes a new key that `secret` releases.
    ///
    /// - Parameter secret: UTF-8 text, at least one byte.
    func createKey(secret: borrowing SecretBytes) async throws -> ReleasedKey

    /// Asks for a key. A wrong secret costs one of the few guesses. A cancelled or unanswered call may have cost one,
    /// too. A wrong long secret costs none.
    ///
    /// The right `.secret` does not set the count of wrong guesses back. If ``ReleasedKey/wrongGuesses`` is not nil,
    /// make a new key for the same secret, then call ``endKey(id:)`` for this one. Otherwise the thief who guessed can
    /// use the remaining guesses, too.
    ///
    /// - Parameters:
    ///   - id: ``ReleasedKey/id`` from the creation of the key.
    ///   - secret: UTF-8 text.
    ///   - kind: the kind of secret: one of the key's two.
    func releaseKey(id: String, secret: borrowing SecretBytes, kind: KeySecretKind) async throws -> ReleasedKey

    /// Checks that the service answers, without spending a guess.
    func checkReachable() async throws

    /// Ends a key for good: no secret releases it any more.
    ///
    /// Another call for the same key does no harm. After an error or a cancellation, call it again later.
    ///
    /// - Throws: ``KeyServiceError`` if the key may not be ended.
    func endKey(id: String) async throws
}

/// The two secrets that release a key.
@nonexhaustive
public enum KeySecretKind: Sendable {
    /// The secret that the key was made with.
    case secret
    /// The 256-bit secret that the service made and gave out with the key.
    case longSecret
}

/// A key that the service gave out.
public struct ReleasedKey: ~Copyable, Sendable {
    /// The id of the key at the service.
    public let id: String
    /// The key, 32 bytes.
    public let key: SecretBytes
    /// The long secret for the same key, for a biometric provider to protect; UTF-8 text.
    public let longSecret: SecretBytes
    /// The wrong guesses since the last right one; nil if there were none or the service does not tell.
    public let wrongGuesses: WrongGuesses?

    /// Makes a key for a ``KeyService`` of your own.
    ///
    /// - Parameters:
    ///   - id: the id of the key at the service.
    ///   - key: 32 bytes.
    ///   - longSecret: the long secret for the same key, UTF-8 text.
    ///   - wrongGuesses: the wrong guesses since the last right one; nil when there were none, or when the service does
    ///     not tell.
    public init(
        id: String, key: consuming SecretBytes, longSecret: consuming SecretBytes, wrongGuesses: WrongGuesses? = nil
    ) {
        self.id = id
        self.key = key
        self.longSecret = longSecret
        self.wrongGuesses = wrongGuesses
    }
}

/// The wrong secrets that somebody tried on a key since its last right one.
public struct WrongGuesses: Sendable, Equatable {
    /// The number of wrong guesses, at least 1.
    public let count: Int
    /// The time of the last wrong guess by the service's clock; nil if the service does not tell.
    public let last: Date?

    /// Makes a report of wrong guesses.
    ///
    /// - Parameters:
    ///   - count: the number of wrong guesses, at least 1.
    ///   - last: the time of the last wrong guess, by the clock of the service; nil when the service does not tell.
    public init(count: Int, last: Date?) {
        self.count = count
        self.last = last
    }
}

/// The reason why the key service gave no key. It carries no secret and no part of the answer's body.
public struct KeyServiceError: LocalizedError, Sendable, CustomStringConvertible {
    /// The kind of error. New codes may be added, so a `switch` over them needs a `default`.
    public struct Code: Hashable, Sendable {
        /// The code as a word, stable across versions.
        public let name: String

        /// The secret is wrong: ask the person again.
        public static let wrongSecret = Code(name: "wrongSecret")
        /// Too many wrong guesses: the service never gives out this key again. Register again.
        public static let keyLocked = Code(name: "keyLocked")
        /// The service does not know the key: somebody deleted it, or this is another service. Register again.
        public static let noSuchKey = Code(name: "noSuchKey")
        /// No answer, or an answer that says "later": try again. The guess may have been counted.
        public static let unavailable = Code(name: "unavailable")
        /// The service refuses the request, or its answer makes no sense. Check the URL.
        public static let invalidAnswer = Code(name: "invalidAnswer")
        /// The URL of the service is not allowed.
        public static let invalidURL = Code(name: "invalidURL")
        /// A setting of this machine prevents the request. The text names the setting.
        public static let configurationInvalid = Code(name: "configurationInvalid")
        /// The service has too much to do now: try again in a second. No guess was counted.
        public static let busy = Code(name: "busy")
        /// This machine's clock is wrong: try again with ``KeyServiceError/serviceTime``. No guess was counted.
        public static let clock = Code(name: "clock")
        /// The key never got its first confirmation. Make another key.
        public static let unfinished = Code(name: "unfinished")
        /// The owner's program ended the key. Read the account again, or use another unlock method.
        public static let keyEnded = Code(name: "keyEnded")
        /// The owner or the operator revoked the key. Use another unlock method, or register again.
        public static let keyRevoked = Code(name: "keyRevoked")
        /// The service destroyed the key, because it was locked for too long. Use another unlock method, or register
        /// again.
        public static let keyDestroyed = Code(name: "keyDestroyed")
        /// The service that made a new key is not the known one. Make no key there. Ask its operator for the identity
        /// key.
        public static let notTrusted = Code(name: "notTrusted")
        /// The service does not accept the access token: get a new one, or tell the service's operator.
        public static let invalidToken = Code(name: "invalidToken")
        /// The access token is bound to a key, and the service does not accept the proof of this key: check the clock,
        /// and the URL of the service.
        public static let invalidProof = Code(name: "invalidProof")
        /// The access token is not from a sign-in of the last 5 minutes: let the person sign in again.
        public static let signInTooOld = Code(name: "signInTooOld")
        /// The owner has already unlocked the key in the last 24 hours: try again after 24 hours.
        public static let unlockedToday = Code(name: "unlockedToday")
        /// The owner's list has no such live key: read the list again.
        public static let noSuchDevice = Code(name: "noSuchDevice")
        /// The key is on the list of another person.
        public static let ownedByAnother = Code(name: "ownedByAnother")
        /// The service keeps no lists of devices: its operator can switch them on.
        public static let noDeviceLists = Code(name: "noDeviceLists")
    }

    /// The code that tells what happened, and so what to do next.
    public let code: Code
    /// The number of wrong guesses that are left; nil if the service did not tell.
    public let guessesRemaining: Int?
    /// The time by the service's clock, with `clock`; nil if the service did not tell.
    public let serviceTime: Date?
    /// One sentence for a person.
    public let description: String
    /// The error that caused this one, for a log: mostly `HTTPError`. Nil when the service itself refused.
    public let underlying: (any Error)?

    /// Makes an error for a ``KeyService`` of your own.
    ///
    /// - Parameters:
    ///   - code: what happened.
    ///   - description: one sentence for a person, without anything secret.
    ///   - guessesRemaining: with `wrongSecret`, the number of wrong guesses that are left; nil when the service does
    ///     not tell.
    ///   - serviceTime: with `clock`, the time by the service's clock.
    ///   - underlying: the error that caused this one.
    public init(
        _ code: Code, _ description: String, guessesRemaining: Int? = nil, serviceTime: Date? = nil,
        underlying: (any Error)? = nil
    ) {
        self.code = code
        self.description = description
        self.guessesRemaining = guessesRemaining
        self.serviceTime = serviceTime
        self.underlying = underlying
    }

    /// The same text as ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }

    /// Whether a guess may have reached the service without an answer.
    package var mayHaveCounted: Bool {
        guard let code = (underlying as? HTTPError)?.code else { return false }
        return code != .notConnected
    }

    /// Whether the service did not answer within the time limit.
    package var isTimeout: Bool { (underlying as? HTTPError)?.code == .timedOut }

    /// Whether the request may have been carried out and its answer was lost.
    package var isAnswerLost: Bool {
        guard code == .unavailable, let cause = (underlying as? HTTPError)?.code else { return false }
        return [.interrupted, .timedOut, .invalidAnswer].contains(cause)
    }
}
