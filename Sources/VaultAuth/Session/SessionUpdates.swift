internal import Logging
internal import VaultLocks
public import VaultStorage

/// Something that happened to a session, for whoever shows or depends on it.
public struct SessionUpdate: Sendable {
    /// What happened. New ones may be added, so a `switch` over them needs a `default`.
    public struct Event: Hashable, Sendable, CustomStringConvertible {
        public let description: String
        /// Somebody logged in, or opened the account again.
        public static let loggedIn = Event(description: "logged in")
        /// There is a new access token from the provider.
        public static let refreshed = Event(description: "refreshed")
        /// Keys and tokens left the memory; the account can be opened again.
        public static let locked = Event(description: "locked")
        /// The session is over. See ``SessionUpdate/reason``.
        public static let loggedOut = Event(description: "logged out")
        /// A refresh did not succeed, and the session goes on. See ``SessionUpdate/error``.
        public static let refreshFailed = Event(description: "refresh failed")
        /// The key service told of wrong guesses that were not made here. See ``SessionUpdate/notice``.
        public static let wrongGuesses = Event(description: "wrong guesses")
        /// An old key could not be ended at the key service. See ``SessionUpdate/notice``.
        public static let keyNotEnded = Event(description: "key not ended")
    }

    /// Why a session was locked or ended. New ones may be added, so a `switch` over them needs a `default`.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
        public let description: String
        /// The app or the person asked for it.
        public static let requested = Reason(description: "requested")
        /// The refresh token was revoked as well.
        public static let everywhere = Reason(description: "everywhere")
        /// The account was deleted.
        public static let deleted = Reason(description: "deleted")
        /// Another login took its place.
        public static let replaced = Reason(description: "replaced")
        /// The provider no longer takes the refresh token. See ``SessionUpdate/error``.
        public static let refused = Reason(description: "refused")
        /// Nobody did anything for too long.
        public static let idle = Reason(description: "idle")
        /// It was open for as long as it may be.
        public static let lifetime = Reason(description: "lifetime")
        /// It was in the background for too long.
        public static let backgroundTimeout = Reason(description: "background timeout")
        /// The agent that held the session has ended, or cannot be reached any more.
        public static let agentEnded = Reason(description: "agent ended")
    }

    /// The account that the update is about.
    public let account: AccountID
    /// The event. It tells which of the other properties are set.
    public let event: Event
    /// With `locked` and `loggedOut`.
    public let reason: Reason?
    /// With `refreshFailed`, and with `loggedOut` when the provider refused.
    public let error: VaultError?
    /// With `wrongGuesses` and `keyNotEnded`: what the person should know.
    public let notice: AccountNotice?

    package init(_ event: Event, _ account: AccountID, reason: Reason? = nil, error: VaultError? = nil) {
        self.account = account
        self.event = event
        self.reason = reason
        self.error = error
        notice = nil
    }

    init(_ notice: AccountNotice) {
        event = notice.code == .wrongGuesses ? .wrongGuesses : .keyNotEnded
        account = notice.account
        (reason, error) = (nil, nil)
        self.notice = notice
    }
}

/// Hands every update to every listener. A slow listener finds what it missed in its own queue, and holds up nobody.
final class SessionUpdates: Sendable {
    private struct State {
        var listeners: [Int: AsyncStream<SessionUpdate>.Continuation] = [:]
        var nextID = 0
    }

    private let state = Lock(State())
    private let logger: Logger

    init(logger: Logger = .silent) { self.logger = logger }

    /// A new listener, who gets every update from now on.
    ///
    /// - Parameter present: what it is told first, read when nothing that is sent later can be missed.
    func stream(beginningWith present: () -> SessionUpdate? = { nil }) -> AsyncStream<SessionUpdate> {
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
        // Inside the lock, so that all listeners see the same order. Yielding only puts it into their queues.
        state.withLock { for listener in $0.listeners.values { listener.yield(update) } }
    }

    deinit {
        state.withLock { for listener in $0.listeners.values { listener.finish() } }
    }
}
