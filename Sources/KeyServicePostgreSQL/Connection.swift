#if PostgreSQL
    internal import CPostgreSQL
    internal import Dispatch
    internal import Foundation

    /// A statement that each connection prepares once.
    struct Statement: Sendable {
        let name: String
        let sql: String
    }

    /// A connection to one server, in pipeline mode. One thread at a time uses it.
    ///
    /// All statements between two calls of ``run(_:deadline:)`` are one transaction: the server begins it with the
    /// first statement, and commits it at the end of the pipeline.
    final class Connection {
        typealias Query = (statement: Statement, parameters: Parameters)

        /// The warnings of the server beside its answers.
        private final class Notices {
            let libpq: LibPQ
            var hasWarning = false

            init(_ libpq: LibPQ) { self.libpq = libpq }
        }

        /// The time for an answer to a cancelled statement.
        private static let cancelTime = Duration.seconds(1)
        /// The settings of each connection. An instance that hangs in a transaction must not hold its keys for long.
        /// The statements look up few rows by their indexes. So a plan from
        /// the time of an empty table must not read the whole table later.
        private static let settings = """
            SET search_path = key_service, pg_temp; SET synchronous_commit = on; SET statement_timeout = 0;
            SET client_min_messages = warning; SET idle_in_transaction_session_timeout = 5000;
            SET default_transaction_isolation = 'read committed';
            SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off;
            SET enable_mergejoin = off; SET jit = off; SET TimeZone = 'UTC'
            """

        private let libpq: LibPQ
        private let pointer: OpaquePointer
        private let notices: Notices
        private var prepared: Set<String> = []
        /// Whether the connection can still be used.
        private(set) var isUsable = true

        /// Connects to a server that accepts writes.
        init(
            _ server: DatabaseURL.Server, _ libpq: LibPQ, deadline: ContinuousClock.Instant
        ) throws(DatabaseFailure) {
            let names = server.parameters.map { strdup($0.name) }
            let values = server.parameters.map { strdup($0.value) }
            defer { for text in names + values { free(text) } }
            guard
                let pointer = libpq.PQconnectStartParams(
                    names.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil], 0)
            else { throw .connection("no memory") }
            self.libpq = libpq
            self.pointer = pointer
            notices = Notices(libpq)
            // Without a receiver, libpq prints notices on standard error.
            _ = libpq.PQsetNoticeReceiver(
                pointer,
                { box, result in
                    guard let box else { return }
                    let notices = Unmanaged<Notices>.fromOpaque(box).takeUnretainedValue()
                    guard let severity = notices.libpq.PQresultErrorField(result, Connection.severityField),
                        String(cString: severity) == "WARNING"
                    else { return }
                    notices.hasWarning = true
                }, Unmanaged.passUnretained(notices).toOpaque())
            try finishConnecting(to: server.name, deadline: deadline)
            guard libpq.PQserverVersion(pointer) >= 150_000 else {
                throw .unfit("\(server.name) has an old PostgreSQL. The key service needs PostgreSQL 15 or later.")
            }
            guard libpq.PQsetnonblocking(pointer, 1) == 0 else { throw .connection("no memory") }
            try execute(Self.settings, deadline: deadline)
        }

        deinit { libpq.PQfinish(pointer) }

        /// PG_DIAG_SEVERITY_NONLOCALIZED, PG_DIAG_SQLSTATE and PG_DIAG_MESSAGE_PRIMARY, which Swift does not import.
        private static let severityField = CInt(UInt8(ascii: "V"))
        private static let codeField = CInt(UInt8(ascii: "C"))
        private static let messageField = CInt(UInt8(ascii: "M"))

        /// Returns false if the server has closed the connection since its last use. Costs one system call.
        func isAlive() -> Bool {
            guard isUsable else { return false }
            var descriptor = pollfd(fd: libpq.PQsocket(pointer), events: Int16(POLLIN), revents: 0)
            guard Foundation.poll(&descriptor, 1, 0) != 0 else { return true }
            // Without a statement under way, this is a notice, or the server has closed the connection.
            isUsable =
                libpq.PQconsumeInput(pointer) == 1 && libpq.PQstatus(pointer) == CONNECTION_OK
                && descriptor.revents & Int16(POLLHUP | POLLERR | POLLNVAL) == 0
            return isUsable
        }

        /// Runs the statements in one transaction, in one round trip. When this returns, the transaction is
        /// committed, also on the synchronous standby.
        func run(_ queries: [Query], deadline: ContinuousClock.Instant) throws(DatabaseFailure) -> [Rows] {
            if libpq.PQpipelineStatus(pointer) == PQ_PIPELINE_OFF, libpq.PQenterPipelineMode(pointer) == 0 {
                throw broken()
            }
            notices.hasWarning = false
            var names: [String?] = []
            for query in queries {
                let statement = query.statement
                if !prepared.contains(statement.name), !names.contains(statement.name) {
                    guard libpq.PQsendPrepare(pointer, statement.name, statement.sql, 0, nil) == 1 else {
                        throw broken()
                    }
                    names.append(statement.name)
                }
                let isSent = query.parameters.withPointers { values, sizes, formats in
                    libpq.PQsendQueryPrepared(
                        pointer, statement.name, CInt(query.parameters.count), values, sizes, formats, 1)
                }
                guard isSent == 1 else { throw broken() }
                names.append(nil)
            }
            guard libpq.PQpipelineSync(pointer) == 1 else { throw broken() }
            return try receive(names, wait: Wait(deadline: deadline))
        }

        /// Runs SQL without parameters, outside of the pipeline.
        @discardableResult
        func execute(_ sql: String, deadline: ContinuousClock.Instant) throws(DatabaseFailure) -> Rows? {
            if libpq.PQpipelineStatus(pointer) != PQ_PIPELINE_OFF, libpq.PQexitPipelineMode(pointer) == 0 {
                throw broken()
            }
            notices.hasWarning = false
            guard libpq.PQsendQuery(pointer, sql) == 1 else { throw broken() }
            var wait = Wait(deadline: deadline)
            var last: Rows?
            var failure: DatabaseFailure?
            while let result = try nextResult(&wait) {
                let rows = Rows(result, libpq)
                if let found = self.failure(of: result) { failure = failure ?? found } else { last = rows }
            }
            if let failure { throw failure }
            if notices.hasWarning || wait.isCancelled { throw .notReplicated }
            return last
        }

        // MARK: - Receiving

        /// A wait for the server. At the deadline the statement is cancelled, and a short time for the answer begins.
        private struct Wait {
            var deadline: ContinuousClock.Instant
            var isCancelled = false
        }

        private func receive(_ names: [String?], wait: Wait) throws(DatabaseFailure) -> [Rows] {
            var wait = wait
            var found: [Rows] = []
            var failure: DatabaseFailure?
            for name in names {
                while let result = try nextResult(&wait) {
                    let rows = Rows(result, libpq)
                    if let error = self.failure(of: result) {
                        failure = failure ?? error
                    } else if let name {
                        prepared.insert(name)
                    } else {
                        found.append(rows)
                    }
                }
            }
            // The answer to the end of the pipeline. An error here is an error of the commit.
            var isCommitted = false
            while !isCommitted {
                guard let result = try nextResult(&wait) else { throw broken() }
                isCommitted = libpq.PQresultStatus(result) == PGRES_PIPELINE_SYNC
                failure = failure ?? self.failure(of: result)
                libpq.PQclear(result)
            }
            if let failure {
                if case .connection = failure { isUsable = false }
                throw failure
            }
            // If somebody cancels the wait for the standby, the server commits and only warns. No other statement of
            // this store gives a warning. After its own cancellation, the store trusts no answer.
            if notices.hasWarning || wait.isCancelled { throw .notReplicated }
            return found
        }

        private func failure(of result: OpaquePointer) -> DatabaseFailure? {
            switch libpq.PQresultStatus(result) {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_PIPELINE_SYNC: nil
            case PGRES_PIPELINE_ABORTED: .connection("the transaction was aborted")
            default:
                .refused(
                    code: libpq.PQresultErrorField(result, Self.codeField).map { String(cString: $0) },
                    message: libpq.PQresultErrorField(result, Self.messageField).map { String(cString: $0) })
            }
        }

        private func nextResult(_ wait: inout Wait) throws(DatabaseFailure) -> OpaquePointer? {
            while true {
                let flushed = libpq.PQflush(pointer)
                guard flushed >= 0 else { throw broken() }
                if flushed == 0 && libpq.PQisBusy(pointer) == 0 { break }
                try self.wait(for: Int16(POLLIN) | (flushed == 1 ? Int16(POLLOUT) : 0), &wait)
                guard libpq.PQconsumeInput(pointer) == 1 else { throw broken() }
            }
            let result = libpq.PQgetResult(pointer)
            if libpq.PQstatus(pointer) != CONNECTION_OK {
                libpq.PQclear(result)
                throw broken()
            }
            return result
        }

        private func wait(for events: Int16, _ wait: inout Wait) throws(DatabaseFailure) {
            while true {
                let isReady = try Self.waitUntilReady(libpq.PQsocket(pointer), events, until: wait.deadline)
                if isReady { return }
                guard !wait.isCancelled else {
                    isUsable = false
                    throw .timedOut
                }
                // A statement timeout of the server would not end a wait for the standby.
                wait = Wait(deadline: .now + Self.cancelTime, isCancelled: true)
                cancel()
            }
        }

        /// Asks the server to end the statement under way. libpq's call may block, so another thread makes it.
        private func cancel() {
            guard let request = libpq.PQgetCancel(pointer) else { return }
            let box = UInt(bitPattern: request)
            DispatchQueue.global().async { [libpq] in
                var message = [CChar](repeating: 0, count: 256)
                let request = OpaquePointer(bitPattern: box)
                _ = libpq.PQcancel(request, &message, CInt(message.count))
                libpq.PQfreeCancel(request)
            }
        }

        /// - Returns: false if the time is up.
        private static func waitUntilReady(
            _ socket: CInt, _ events: Int16, until deadline: ContinuousClock.Instant
        ) throws(DatabaseFailure) -> Bool {
            var descriptor = pollfd(fd: socket, events: events, revents: 0)
            while true {
                let left = deadline - .now
                let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000
                // Rounded up, so that the time is really over.
                let count = Foundation.poll(&descriptor, 1, CInt(clamping: max(0, milliseconds + 1)))
                if count > 0 { return true }
                if count < 0 && errno != EINTR { throw .connection("poll failed (error \(errno))") }
                if count == 0 && deadline <= .now { return false }
            }
        }

        private func broken() -> DatabaseFailure {
            isUsable = false
            return .connection(message)
        }

        /// The first line of libpq's message, which names the server and the reason, but no value.
        private var message: String {
            let text = libpq.PQerrorMessage(pointer).map { String(cString: $0) } ?? ""
            return text.split(separator: "\n").first.map(String.init) ?? "the connection broke"
        }

        private func finishConnecting(
            to name: String, deadline: ContinuousClock.Instant
        ) throws(DatabaseFailure) {
            // Only these messages have the code of the server.
            _ = libpq.PQsetErrorVerbosity(pointer, PQERRORS_VERBOSE)
            var state = PGRES_POLLING_WRITING
            while state != PGRES_POLLING_OK {
                guard libpq.PQstatus(pointer) != CONNECTION_BAD, state != PGRES_POLLING_FAILED else {
                    throw .connecting(libpq.PQerrorMessage(pointer).map { String(cString: $0) } ?? "")
                }
                let events = Int16(state == PGRES_POLLING_READING ? POLLIN : POLLOUT)
                guard try Self.waitUntilReady(libpq.PQsocket(pointer), events, until: deadline) else {
                    throw .connection("\(name) did not answer in time")
                }
                state = libpq.PQconnectPoll(pointer)
            }
        }
    }
#endif
