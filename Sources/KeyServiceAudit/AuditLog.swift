internal import Foundation
internal import KeyServiceCore
package import Logging
internal import VaultBase

/// The audit log of a running server. It writes many lines at a time, on its own thread, so that a request does not
/// wait for the disk.
///
/// An event is durable after 100 milliseconds at most. If the log cannot be written (a full disk), the server goes on
/// by default: people must be able to log in, and a thief must not be able to stop them by filling the disk. The log
/// keeps 10,000 events in memory, tries again each second, and reports an error. Later it writes a line with the number
/// of lost events. With ``isRequired``, each answer waits until its line is durable, and nobody gets a key while the
/// log cannot be written. Refusals that anybody can cause without end are counted: see `RepeatedEvents`.
package final class AuditLog: Sendable {
    private struct Waiting {
        let timed: TimedAuditEvent
        /// Nil if nobody waits for the line.
        let continuation: CheckedContinuation<Void, any Error>?
    }

    private struct State {
        var waiting: [Waiting] = []
        var repeats = RepeatedEvents()
        var isTimerSet = false
        /// Whether a timer will end the minute of ``repeats``.
        var isMinuteSet = false
        var isFailing = false
        var written = 0
        var lost = 0
        /// The number of lost events that no line reports yet.
        var untold = 0

        /// Adds lines to the next batch.
        ///
        /// - continuation: of the last line.
        /// - Returns: the number of events that are lost, because too many lines wait.
        mutating func add(
            _ lines: [AuditEvent], at time: Int64, _ continuation: CheckedContinuation<Void, any Error>?
        ) -> Int {
            let room = max(0, AuditLog.capacity - waiting.count)
            for (index, line) in lines.prefix(room).enumerated() {
                waiting.append(
                    Waiting(
                        timed: TimedAuditEvent(event: line, time: time),
                        continuation: index == lines.count - 1 ? continuation : nil))
            }
            let dropped = lines.dropFirst(room).reduce(0) { $0 + $1.number }
            lost += dropped
            untold += dropped
            return dropped
        }
    }

    /// The counts of the log since the start of the server.
    package struct Counts: Sendable {
        /// The events with a line.
        package let written: Int
        /// The events that will never have a line.
        package let lost: Int
        /// Whether the last try to write failed.
        package let isFailing: Bool
    }

    private static let maxDelay = DispatchTimeInterval.milliseconds(100)
    private static let retryDelay = DispatchTimeInterval.seconds(1)
    private static let minute = DispatchTimeInterval.seconds(60)
    private static let capacity = 10_000

    /// Whether the server refuses requests that the log cannot record.
    package let isRequired: Bool
    private let writer: AuditWriter
    private let logger: Logger
    private let observer: (any AuditObserver)?
    private let explain: @Sendable (any Error) -> String
    private let now: @Sendable () -> Int64
    private let state = Lock(State())
    private let queue = DispatchQueue(label: "credential-vault.key-service.audit")

    /// Makes the log of a server.
    ///
    /// - Parameters:
    ///   - isRequired: whether the server refuses requests that the log cannot record.
    ///   - logger: gets an error when the log cannot be written, and the anchors.
    ///   - observer: sees whether events get lost; nil for none.
    ///   - now: returns the time in milliseconds since 1970; nil for the system's clock.
    package init(
        _ writer: AuditWriter, isRequired: Bool = false, logger: Logger,
        observer: (any AuditObserver)? = nil,
        explain: @escaping @Sendable (any Error) -> String = { "\($0)" },
        now: (@Sendable () -> Int64)? = nil
    ) {
        self.writer = writer
        self.isRequired = isRequired
        self.logger = logger
        self.observer = observer
        self.explain = explain
        self.now = now ?? { Int64(Date().timeIntervalSince1970 * 1000) }
    }

    /// The counts of the log since the start of the server.
    package var counts: Counts {
        state.withLock { Counts(written: $0.written, lost: $0.lost, isFailing: $0.isFailing) }
    }

    /// Throws `busy` if the log is required and cannot be written. Call it before the work of a request: a refused
    /// request must not cost a guess.
    package func checkWorking() throws {
        guard isRequired, state.withLock({ $0.isFailing }) else { return }
        throw KeyServiceServerError.busy
    }

    /// Records events. If the log is required, returns when they are durable.
    ///
    /// - Throws: `busy` if the log is required and cannot be written.
    package func record(_ events: [AuditEvent]) async throws {
        for (index, event) in events.enumerated() {
            if isRequired && index == events.count - 1 { try await recordDurably(event) } else { add(event) }
        }
    }

    /// Records an event. Nobody waits for it, even if the log is required.
    package func note(_ event: AuditEvent) { add(event) }

    /// Records an event, and returns when it is durable.
    package func recordDurably(_ event: AuditEvent) async throws {
        try await withCheckedThrowingContinuation { continuation in
            add(event, continuation)
            queue.async { self.write() }
        }
    }

    /// Begins a new log file if the old one was renamed.
    package func reopen() {
        add(AuditEvent(.logReopened))
        queue.async { self.write() }
    }

    /// Writes the anchor of the newest line to the ordinary log.
    package func logAnchor() {
        queue.sync {
            write()
            guard let anchor = try? writer.anchor() else { return }
            logger.notice("Audit anchor", metadata: ["anchor": "\(anchor)"])
        }
    }

    private func add(_ event: AuditEvent, _ continuation: CheckedContinuation<Void, any Error>? = nil) {
        let time = now()
        let (isCounted, dropped, mustSetTimer, mustSetMinute) = state.withLock { state in
            let lines = state.repeats.lines(for: event)
            let dropped = state.add(lines, at: time, continuation)
            let mustSetTimer = !state.waiting.isEmpty && !state.isTimerSet
            if mustSetTimer { state.isTimerSet = true }
            let mustSetMinute = !state.repeats.isEmpty && !state.isMinuteSet
            if mustSetMinute { state.isMinuteSet = true }
            return (lines.isEmpty, dropped, mustSetTimer, mustSetMinute)
        }
        if mustSetTimer { setTimer(Self.maxDelay) }
        if mustSetMinute { setMinute() }
        if dropped > 0 {
            observer?.auditEventsLost(dropped)
            continuation?.resume(throwing: KeyServiceServerError.busy)
        } else if isCounted {
            continuation?.resume()
        }
    }

    private func setMinute() {
        queue.asyncAfter(deadline: .now() + Self.minute) { @Sendable [weak self] in self?.endMinute() }
    }

    /// Writes the counts of the last minute.
    func endMinute() {
        let time = now()
        let (dropped, goesOn) = state.withLock { state in
            let lines = state.repeats.endMinute()
            state.isMinuteSet = !state.repeats.isEmpty
            return (state.add(lines, at: time, nil), state.isMinuteSet)
        }
        if dropped > 0 { observer?.auditEventsLost(dropped) }
        if goesOn { setMinute() }
        queue.async { self.write() }
    }

    private func setTimer(_ delay: DispatchTimeInterval) {
        queue.asyncAfter(deadline: .now() + delay) { @Sendable [weak self] in
            guard let self else { return }
            self.state.withLock { $0.isTimerSet = false }
            self.write()
        }
    }

    /// Writes until nothing waits, or the log cannot be written. It runs only on the queue.
    private func write() {
        while true {
            let (batch, untold, isFailing) = state.withLock { state in
                defer { state.waiting.removeAll(keepingCapacity: true) }
                return (state.waiting, state.untold, state.isFailing)
            }
            // After a failure, lines may wait in the state file.
            guard !batch.isEmpty || untold > 0 || isFailing else { return }
            guard write(batch, untold: untold) else { return }
        }
    }

    private func write(_ batch: [Waiting], untold: Int) -> Bool {
        let told =
            untold > 0 ? [TimedAuditEvent(event: AuditEvent(.eventsLost, count: untold), time: now())] : []
        do {
            let written = try writer.append(batch.map(\.timed) + told)
            let isTold = written.count > batch.count
            let done = min(written.count, batch.count)
            state.withLock { state in
                state.written += done
                if isTold { state.untold -= untold }
                state.waiting.insert(contentsOf: batch[done...], at: 0)
            }
            for waiting in batch[..<done] { waiting.continuation?.resume() }
            if written.wasChanged { logger.error("Another program changed the audit log \(writer.path).") }
            if written.isInFile { succeeded() } else { failed("\(writer.path) cannot be written.") }
            return written.isInFile
        } catch {
            keep(batch)
            failed(explain(error))
            return false
        }
    }

    /// Keeps the events for the next try. Their requests get "busy" now.
    private func keep(_ batch: [Waiting]) {
        let dropped = state.withLock { state in
            let all = batch.map { Waiting(timed: $0.timed, continuation: nil) } + state.waiting
            state.waiting = Array(all.prefix(Self.capacity))
            let dropped = all.dropFirst(Self.capacity).reduce(0) { $0 + $1.timed.event.number }
            state.lost += dropped
            state.untold += dropped
            for waiting in all.dropFirst(Self.capacity) {
                waiting.continuation?.resume(throwing: KeyServiceServerError.busy)
            }
            return dropped
        }
        observer?.auditEventsLost(dropped)
        for waiting in batch { waiting.continuation?.resume(throwing: KeyServiceServerError.busy) }
    }

    private func succeeded() {
        let wasFailing = state.withLock { state in
            defer { state.isFailing = false }
            return state.isFailing
        }
        observer?.auditIsFailing(false)
        if wasFailing { logger.notice("The audit log can be written again.") }
    }

    private func failed(_ reason: String) {
        let (isNew, mustSetTimer) = state.withLock { state in
            defer { (state.isFailing, state.isTimerSet) = (true, true) }
            return (!state.isFailing, !state.isTimerSet)
        }
        observer?.auditIsFailing(true)
        if isNew { logger.error("The audit log cannot be written: \(reason)") }
        if mustSetTimer { setTimer(Self.retryDelay) }
    }
}
