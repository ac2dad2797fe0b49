internal import CLinux
internal import Foundation
internal import VaultAgentProtocol
internal import VaultBase
internal import VaultStorage

/// Serves the agent's clients on one thread, with epoll(7). The thread answers a request at once if it need not wait.
/// Any other request becomes a task, and the client's next request waits for that task.
package final class AgentServer: Sendable {
    private struct Inbox {
        /// The messages from tasks to clients.
        var messages: [(client: UInt64, answer: AgentAnswer)] = []
        var events: [AgentEvent] = []
        var isStopping = false
    }

    private let requestHandler: AgentRequestHandler
    private let inbox = Lock(Inbox())
    private let wakeUp: Int32

    /// - Throws: ``VaultError`` with code `configurationInvalid` if the system has no free descriptor.
    package init(requestHandler: AgentRequestHandler) throws {
        let wakeUp = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard wakeUp >= 0 else {
            throw VaultError(
                .configurationInvalid,
                "The agent cannot start, because too many files are open. Close programs, then try again.")
        }
        self.requestHandler = requestHandler
        self.wakeUp = wakeUp
        requestHandler.sessions.listen { [weak self] update in self?.tell(AgentEvent(update)) }
    }

    deinit { close(wakeUp) }

    /// Ends ``run(_:)``.
    package func stop() {
        inbox.withLock { $0.isStopping = true }
        wake()
    }

    private func tell(_ event: AgentEvent) {
        inbox.withLock { $0.events.append(event) }
        wake()
    }

    /// - Parameter isLast: whether the agent ends with this message.
    private func post(_ answer: AgentAnswer, to client: UInt64, isLast: Bool) {
        inbox.withLock {
            $0.messages.append((client, answer))
            if isLast { $0.isStopping = true }
        }
        wake()
    }

    private func wake() {
        var one: UInt64 = 1
        _ = write(wakeUp, &one, 8)
    }

    /// Serves until ``stop()``. Blocks the calling thread.
    package func run(_ listener: AgentListener) {
        var loop = ServerLoop(server: self, listener: listener, wakeUp: wakeUp)
        loop.run()
    }

    /// Returns the new messages and events for the clients.
    func takeInbox() -> (messages: [(client: UInt64, answer: AgentAnswer)], events: [AgentEvent], isStopping: Bool) {
        var count: UInt64 = 0
        _ = read(wakeUp, &count, 8)
        return inbox.withLock { inbox in
            defer { (inbox.messages, inbox.events) = ([], []) }
            return (inbox.messages, inbox.events, inbox.isStopping)
        }
    }

    /// Answers at once, or starts a task.
    ///
    /// - Returns: nil if a task answers.
    func answer(_ request: consuming AgentRequest, _ client: UInt64, process: Int32) -> AgentAnswer? {
        if let answer = requestHandler.answerAtOnce(request, process: process) { return answer }
        let (requestHandler, request) = (requestHandler, request)
        Task { [weak self] in
            let answer = await requestHandler.answer(request, process: process)
            var isLast = false
            if case .stop = request { isLast = !answer.isFailure }
            self?.post(answer, to: client, isLast: isLast)
        }
        return nil
    }

    func isHeld(_ account: AgentAccount) -> Bool { requestHandler.isHeld(account) }
}

extension AgentAnswer {
    fileprivate var isFailure: Bool { if case .failed = self { true } else { false } }
}
