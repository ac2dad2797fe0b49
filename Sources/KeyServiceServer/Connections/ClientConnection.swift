internal import NIOCore
internal import VaultBase

/// A connection of a client, and what it does now. Its event loop notes this, and the table of connections reads it on
/// other threads.
final class ClientConnection: Sendable {
    /// What a connection does. A later phase loses less if the connection is closed.
    enum Phase: Int {
        /// It ends. No request that comes now begins.
        case ending
        /// A request has come and is not answered yet, or the client has not taken the answer yet.
        case underWay
        /// A part of a request has come. No guess of it was counted.
        case arriving
        /// It is new, or all its requests are answered.
        case idle
    }

    struct Activity: Equatable {
        var phase: Phase
        var since: NIODeadline
    }

    /// The event that closes the connection at once, without the farewell of TLS: the client could delay that.
    struct Cut: Sendable {}

    /// A connection that the table has refused.
    static let refused = ClientConnection(address: nil, isTrusted: true, phase: .ending) {}

    /// The address for counting; nil if the connection has none.
    let address: NetworkAddress?
    /// Whether the other end is a trusted proxy, which has the requests of many clients.
    let isTrusted: Bool
    /// Closes the connection, with its requests.
    let cut: @Sendable () -> Void
    private let state: Lock<Activity>

    /// - Parameter cut: closes the connection, on any thread.
    init(
        address: NetworkAddress?, isTrusted: Bool, phase: Phase = .idle, cut: @escaping @Sendable () -> Void
    ) {
        self.address = address
        self.isTrusted = isTrusted
        self.cut = cut
        state = Lock(Activity(phase: phase, since: .now()))
    }

    var activity: Activity { state.withLock { $0 } }
    var isEnding: Bool { activity.phase == .ending }

    /// Notes new bytes.
    ///
    /// - Returns: false if the connection ends.
    func bytesArrived() -> Bool {
        state.withLock { state in
            if state.phase == .idle { state = Activity(phase: .arriving, since: .now()) }
            return state.phase != .ending
        }
    }

    /// Notes what the connection does from now on.
    ///
    /// - Returns: false if the connection ends.
    @discardableResult
    func enter(_ phase: Phase) -> Bool {
        state.withLock { state in
            guard state.phase != .ending else { return false }
            if state.phase != phase { state = Activity(phase: phase, since: .now()) }
            return true
        }
    }

    /// Begins the end, unless the connection does something else by now.
    ///
    /// - Returns: whether the end began.
    func end(ifStill activity: Activity) -> Bool {
        state.withLock { state in
            guard state == activity else { return false }
            state.phase = .ending
            return true
        }
    }
}
