package import CoreMetrics
internal import KeyServiceAudit
internal import KeyServiceCore

/// The figures of a key service, for its operator. The values of all labels are fixed, so a client cannot add new ones.
package final class KeyServiceMetrics: KeyServiceObserver, AuditObserver {
    package enum GuessResult: String, CaseIterable, Sendable {
        case right, wrong, locked
        // In the protocol's version 2, the service does not know which guess is right.
        case opened, confirmed
    }

    private static let prefix = "vault_key_service_"
    private static let statuses = [200, 400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 500, 503]
    private static let otherStatus = "other"

    static let help = [
        "requests_total": "Answered requests.",
        "request_duration_seconds": "Time from the whole head of a request to its answer.",
        "requests_timed_out_total": "Connections closed because a request took too long to arrive.",
        "requests_malformed_total": "Connections closed because the HTTP parser refused a request.",
        "guesses_total":
            "Guesses on keys. It does not answer \"locked\" ones. It cannot tell if \"opened\" ones were right.",
        "creates_refused_total": "New keys refused by the limits of new keys.",
        "requests_limited_total":
            "Requests of addresses over the limit of refused requests. requests_total does not count them.",
        "unclaimed_keys_ended_total": "Keys ended because nobody claimed them in time.",
        "connections_open": "Open connections of clients.",
        "connections_limit": "How many connections of clients may be open.",
        "connections_evicted_total": "Connections closed to make room for new ones.",
        "connections_refused_total": "Connections refused by a limit of connections.",
        "log_lines_dropped_total": "Log lines dropped because nobody read the log.",
        "commit_batch_size": "Changes in one transaction of the store.",
        "commit_duration_seconds": "Time of one transaction of the store.",
        "argon2_requests_in_flight": "Requests that run or wait for Argon2.",
        "asynchronous_standbys": "Asynchronous standbys of the database, or 0 if they are accepted.",
        "audit_events_lost_total": "Events that will never be in the audit log.",
        "audit_failing": "1 if the audit log cannot be written, otherwise 0.",
        "ready": "1 if the last check of the store was right, otherwise 0.",
        "clock_uncertain": "1 if no old keys are erased because the clock is uncertain, otherwise 0.",
        "checked_in_seconds": "Time of the last check that wrote to the store, in seconds since 1970.",
        "tls_certificate_expires_seconds": "End of the TLS certificate, in seconds since 1970.",
    ].reduce(into: [
        "process_resident_memory_bytes": "Resident memory.",
        "process_start_time_seconds": "Start of the process, in seconds since 1970.",
    ]) { $0[prefix + $1.key] = $1.value }

    /// The counters, by the index of the route and the index of the status.
    private let requests: [[Counter]]
    private let durations: [CoreMetrics.Timer]
    private let guesses: [GuessResult: Counter]
    private let refusedCreates: [CreateQuota.Refusal.Limit: Counter]
    private let limitedRequests: Counter
    private let endedUnclaimed: Counter
    private let timedOut: Counter
    private let malformed: Counter
    private let openConnections: Meter
    private let connectionLimit: Meter
    private let evictedConnections: Counter
    private let refusedConnections: Counter
    private let droppedLines: Counter
    private let batchSizes: Recorder
    private let batchDurations: CoreMetrics.Timer
    private let argon2Requests: Meter
    private let standbys: Meter
    private let ready: Meter
    private let clockUncertain: Meter
    private let lastCheckIn: Meter
    private let lostAuditEvents: Counter
    private let auditFailing: Meter
    private let certificateEnd: Meter

    /// Makes the figures.
    ///
    /// - Parameter factory: the receiver of the figures. The default is the factory of `MetricsSystem.bootstrap`: call
    ///   `bootstrap` first.
    package init(factory: any MetricsFactory = MetricsSystem.factory) {
        func counter(_ name: String, _ dimensions: [(String, String)] = []) -> Counter {
            Counter(label: Self.prefix + name, dimensions: dimensions, factory: factory)
        }
        func timer(_ name: String, _ dimensions: [(String, String)] = []) -> CoreMetrics.Timer {
            CoreMetrics.Timer(label: Self.prefix + name, dimensions: dimensions, factory: factory)
        }
        func meter(_ name: String) -> Meter { Meter(label: Self.prefix + name, factory: factory) }
        let statuses = Self.statuses.map(String.init) + [Self.otherStatus]
        requests = ServiceRoute.allCases.map { route in
            statuses.map { counter("requests_total", [("route", route.name), ("status", $0)]) }
        }
        durations = ServiceRoute.allCases.map { timer("request_duration_seconds", [("route", $0.name)]) }
        guesses = GuessResult.allCases.reduce(into: [:]) { all, result in
            all[result] = counter("guesses_total", [("result", result.rawValue)])
        }
        refusedCreates = CreateQuota.Refusal.Limit.allCases.reduce(into: [:]) { all, limit in
            all[limit] = counter("creates_refused_total", [("limit", limit.rawValue)])
        }
        limitedRequests = counter("requests_limited_total")
        endedUnclaimed = counter("unclaimed_keys_ended_total")
        timedOut = counter("requests_timed_out_total")
        malformed = counter("requests_malformed_total")
        openConnections = meter("connections_open")
        connectionLimit = meter("connections_limit")
        evictedConnections = counter("connections_evicted_total")
        refusedConnections = counter("connections_refused_total")
        droppedLines = counter("log_lines_dropped_total")
        batchSizes = Recorder(
            label: Self.prefix + "commit_batch_size", dimensions: [], aggregate: true, factory: factory)
        batchDurations = timer("commit_duration_seconds")
        argon2Requests = meter("argon2_requests_in_flight")
        standbys = meter("asynchronous_standbys")
        ready = meter("ready")
        clockUncertain = meter("clock_uncertain")
        lastCheckIn = meter("checked_in_seconds")
        lostAuditEvents = counter("audit_events_lost_total")
        auditFailing = meter("audit_failing")
        certificateEnd = meter("tls_certificate_expires_seconds")
    }

    func request(_ route: ServiceRoute, status: Int, duration: Duration) {
        let index = Self.statuses.firstIndex(of: status) ?? Self.statuses.count
        requests[route.rawValue][index].increment()
        durations[route.rawValue].recordNanoseconds(duration.wholeNanoseconds)
    }

    func guess(_ result: GuessResult) { guesses[result]?.increment() }
    func createRefused(_ limit: CreateQuota.Refusal.Limit) { refusedCreates[limit]?.increment() }
    func requestLimited() { limitedRequests.increment() }
    func unclaimedKeysEnded(_ count: Int) { endedUnclaimed.increment(by: count) }
    func requestTimedOut() { timedOut.increment() }
    func requestMalformed() { malformed.increment() }
    func connectionsLimited(to limit: Int) { connectionLimit.set(limit) }
    func connectionEvicted() { evictedConnections.increment() }
    func connectionOpened() { openConnections.increment() }
    func connectionClosed() { openConnections.decrement() }
    func connectionRefused() { refusedConnections.increment() }
    func isReady(_ isReady: Bool) { ready.set(isReady ? 1 : 0) }
    func clockIsUncertain(_ isUncertain: Bool) { clockUncertain.set(isUncertain ? 1 : 0) }
    func auditEventsLost(_ count: Int) { lostAuditEvents.increment(by: count) }
    func auditIsFailing(_ isFailing: Bool) { auditFailing.set(isFailing ? 1 : 0) }
    func certificateEnds(at time: Int) { certificateEnd.set(time) }

    /// Notes a check that wrote to the store.
    ///
    /// - Parameter time: the written time, in seconds since 1970.
    package func checkedIn(at time: Int64) { lastCheckIn.set(time) }

    package func logLinesDropped(_ count: Int) { droppedLines.increment(by: count) }

    /// Notes one transaction of the store.
    ///
    /// - Parameters:
    ///   - duration: the time of the transaction, with its fsync.
    package func committed(changes: Int, duration: Duration) {
        batchSizes.record(changes)
        batchDurations.recordNanoseconds(duration.wholeNanoseconds)
    }

    /// Notes that a request got a permit for Argon2.
    package func argon2RequestBegan() { argon2Requests.increment() }
    /// Notes that a request gave its permit for Argon2 back.
    package func argon2RequestEnded() { argon2Requests.decrement() }
    /// Notes the number of asynchronous standbys of the database.
    package func asynchronousStandbys(_ count: Int) { standbys.set(count) }
}

extension Duration {
    fileprivate var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
