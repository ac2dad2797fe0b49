internal import Logging
internal import VaultBase
public import VaultStorage
public import VaultUnlock

/// An event of a session, for an app that shows the session or depends on it.
public struct SessionUpdate: Sendable {
    /// The event. New events may be added, so a `switch` over them needs a `default`.
    public struct Event: Hashable, Sendable, CustomStringConvertible {
        /// The event as a word, stable across versions.
        public let name: String
        /// The event for a person, in English.
        public let description: String

        private init(_ name: String, _ description: String? = nil) {
            (self.name, self.description) = (name, description ?? name)
        }

        /// Somebody logged in, or opened the account again.
        public static let loggedIn = Event("loggedIn", "logged in")
        /// The provider issued a new access token.
        public static let refreshed = Event("refreshed")
        /// Keys and tokens were removed from memory. The account can be opened again.
        public static let locked = Event("locked")
        /// The session is over. See ``SessionUpdate/reason``.
        public static let loggedOut = Event("loggedOut", "logged out")
        /// A refresh failed, but the session goes on. See ``SessionUpdate/error``.
        public static let refreshFailed = Event("refreshFailed", "refresh failed")
        /// The key service reported wrong guesses that were not made here. See ``SessionUpdate/notice``.
        public static let wrongGuesses = Event("wrongGuesses", "wrong guesses")
        /// The key service could not end an old key. See ``SessionUpdate/notice``.
        public static let keyNotEnded = Event("keyNotEnded", "key not ended")
        /// An unlock method without the network was removed, because the machine's policy forbids it. See
        /// ``SessionUpdate/notice``.
        public static let keyslotRemoved = Event("keyslotRemoved", "keyslot removed")
        /// An unlock method did not get a new key, because the key service is not the known one. See
        /// ``SessionUpdate/notice``.
        public static let keyServiceNotTrusted = Event("keyServiceNotTrusted", "key service not trusted")
        /// A sign-in at the provider unlocked the key of an unlock method. ``SessionUpdate/notice`` has the text.
        public static let keyUnlocked = Event("keyUnlocked", "key unlocked")
    }

    /// The reason for a lock or an end. New reasons may be added, so a `switch` over them needs a `default`.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
        /// The reason as a word, stable across versions.
        public let name: String
        /// The reason for a person, in English.
        public let description: String

        private init(_ name: String, _ description: String? = nil) {
            (self.name, self.description) = (name, description ?? name)
        }

        /// The app or the person wanted it.
        public static let requested = Reason("requested")
        /// The refresh token was revoked, too.
        public static let everywhere = Reason("everywhere")
        /// The account was deleted.
        public static let deleted = Reason("deleted")
        /// Another login replaced this one.
        public static let replaced = Reason("replaced")
        /// The provider no longer accepts the refresh token. See ``SessionUpdate/error``.
        public static let refused = Reason("refused")
        /// The person did nothing for too long.
        public static let idle = Reason("idle")
        /// The session reached its longest allowed time.
        public static let lifetime = Reason("lifetime")
        /// The machine's policy no longer allows the account.
        public static let forbidden = Reason("forbidden")
        /// The key service has not said for too long that this device was not revoked. See ``SessionUpdate/error``.
        public static let revocationUnknown = Reason("revocationUnknown", "revocation unknown")
        /// The app was in the background for too long.
        public static let backgroundTimeout = Reason("backgroundTimeout", "background timeout")
        /// Another program or session gave the account a new vault key. Log in again.
        public static let vaultKeyReplaced = Reason("vaultKeyReplaced", "vault key replaced")
        /// This program stops. A session that the agent holds stays open there.
        public static let programStops = Reason("programStops", "program stops")
        /// The agent that held the session has ended, or can no longer be reached.
        public static let agentEnded = Reason("agentEnded", "agent ended")
    }

    /// The account that the update is about.
    public let account: AccountID
    /// The event. It tells which of the other properties are set.
    public let event: Event
    /// The reason, with `locked` and `loggedOut`.
    public let reason: Reason?
    /// The error, with `refreshFailed`, with `loggedOut` if the provider or the key service refused, and
    /// with `locked` if the reason is `revocationUnknown`.
    public let error: VaultError?
    /// The notice for the person, with `wrongGuesses`, `keyNotEnded`, `keyslotRemoved`, `keyServiceNotTrusted` and
    /// `keyUnlocked`.
    public let notice: AccountNotice?

    /// Makes an update for an app's own ``AuthProtocol``.
    ///
    /// - Parameters:
    ///   - event: the event.
    ///   - account: the account that the update is about.
    ///   - reason: the reason, with `locked` and `loggedOut`.
    ///   - error: see ``error``.
    public init(_ event: Event, _ account: AccountID, reason: Reason? = nil, error: VaultError? = nil) {
        self.account = account
        self.event = event
        self.reason = reason
        self.error = error
        notice = nil
    }

    init(_ notice: AccountNotice) {
        event =
            switch notice.code {
            case .wrongGuesses: .wrongGuesses
            case .keyslotRemoved: .keyslotRemoved
            case .keyServiceNotTrusted: .keyServiceNotTrusted
            case .keyUnlocked: .keyUnlocked
            default: .keyNotEnded
            }
        account = notice.account
        (reason, error) = (nil, nil)
        self.notice = notice
    }
}

/// Sends every update to every listener. Each listener has its own queue, so a slow listener delays nobody and misses
/// nothing.
package final class SessionUpdates: Sendable {
    private struct State {
        var listeners: [Int: AsyncStream<SessionUpdate>.Continuation] = [:]
        var nextID = 0
    }

    private let state = Lock(State())
    private let logger: Logger

    init(logger: Logger = .silent) { self.logger = logger }

    /// Adds a listener, which gets every update from now on.
    ///
    /// - Parameter present: returns the first update. It is read at a moment when no later update can be missed.
    package func stream(beginningWith present: () -> SessionUpdate? = { nil }) -> AsyncStream<SessionUpdate> {
        let (stream, continuation) = AsyncStream.makeStream(of: SessionUpdate.self, bufferingPolicy: .unbounded)
        let id = state.withLock { state in
            state.nextID += 1
            state.listeners[state.nextID] = continuation
            if let present = present() { continuation.yield(present) }
            return state.nextID
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { $0.listeners[id] = nil }
        }
        return stream
    }

    func send(_ update: SessionUpdate) {
        update.log(to: logger)
        // Inside the lock, so that all listeners get the same order. A yield only adds to their queues.
        state.withLock { for listener in $0.listeners.values { listener.yield(update) } }
    }

    deinit {
        state.withLock { for listener in $0.listeners.values { listener.finish() } }
    }
}

extension SessionUpdate {
    /// Logs the update at a level that fits.
    func log(to logger: Logger) {
        let level: Logger.Level =
            switch event {
            case .refreshed: .debug
            case .refreshFailed, .wrongGuesses, .keyServiceNotTrusted, .keyUnlocked: .warning
            case .keyNotEnded, .keyslotRemoved: .notice
            default: .info
            }
        var metadata = account.logMetadata
        if let reason { metadata["reason"] = .string(reason.name) }
        if let error { metadata["error"] = .string(error.code.name) }
        if let notice { metadata["unlockMethod"] = .string(notice.keyslot.rawValue) }
        logger.log(level: level, "\(event.description)", metadata: metadata)
    }
}
