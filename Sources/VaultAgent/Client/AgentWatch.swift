internal import Foundation
internal import VaultAgentProtocol
internal import VaultAuth
internal import VaultBase
internal import VaultStorage

/// Receives the events of a session from the agent, on a separate connection and thread.
final class AgentWatch: Sendable {
    private let client: AgentClient
    private let account: AgentAccount
    private let connection = Lock<(current: AgentConnection?, isOver: Bool)>((nil, false))

    init(client: AgentClient, account: AgentAccount) {
        self.client = client
        self.account = account
    }

    deinit { end() }

    /// Ends the stream.
    func end() {
        connection.withLock { connection in
            connection.isOver = true
            connection.current?.interrupt()
            connection.current = nil
        }
    }

    /// The longest wait for the agent's first answer, in seconds. It answers at once, unless it hangs.
    private static let timeout = 8

    /// Connects. Events from now on wait for ``updates()``.
    func begin() async throws {
        let new = try client.connection(timeout: Self.timeout)
        guard case .done = try await client.ask(.watch(account), on: new) else { throw AgentClient.unexpected }
        // The next event may come in hours.
        new.waitWithoutLimit()
        connection.withLock { if !$0.isOver { $0.current = new } }
    }

    /// Returns the events since ``begin()``. If the connection ends, `locked` is the last event.
    func updates() -> AsyncStream<SessionUpdate> {
        let (stream, continuation) = AsyncStream.makeStream(of: SessionUpdate.self)
        let (current, account) = (connection.withLock { $0.current }, account)
        Thread.detachNewThread { @Sendable in
            let hasEnded = current.map { Self.read($0, continuation) } ?? false
            if !hasEnded { continuation.yield(SessionUpdate(.locked, AccountID(account), reason: .agentEnded)) }
            continuation.finish()
        }
        return stream
    }

    /// - Returns: whether the agent reported the end of the session.
    private static func read(
        _ connection: AgentConnection, _ continuation: AsyncStream<SessionUpdate>.Continuation
    ) -> Bool {
        while let answer = try? connection.next(), case .event(let event) = answer {
            guard let update = SessionUpdate(event) else { continue }
            continuation.yield(update)
            if update.event == .locked || update.event == .loggedOut && update.reason != .refused { return true }
        }
        return false
    }
}

extension SessionUpdate {
    /// - Returns: nil for an event that this program does not know.
    init?(_ event: AgentEvent) {
        let known: [Event] = [.loggedIn, .refreshed, .locked, .loggedOut, .refreshFailed]
        guard let kind = known.first(where: { $0.description == event.event }) else { return nil }
        let reasons: [Reason] = [
            .requested, .vaultKeyReplaced, .everywhere, .deleted, .replaced, .refused, .idle, .backgroundTimeout,
            .lifetime, .forbidden, .revocationUnknown,
        ]
        self.init(
            kind, AccountID(event.account),
            reason: event.reason.map { name in reasons.first { $0.description == name } ?? .requested },
            error: event.failure.map(VaultError.init))
    }
}

extension AgentEvent {
    init(_ update: SessionUpdate) {
        self.init(
            account: AgentAccount(update.account), event: update.event.description,
            reason: update.reason?.description, failure: update.error.map(AgentFailure.init))
    }
}

extension AgentFailure {
    init(_ error: VaultError) { self.init(code: error.code.name, message: error.description) }
}
