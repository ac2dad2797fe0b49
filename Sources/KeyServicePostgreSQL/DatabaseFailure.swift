#if PostgreSQL
    internal import KeyServiceServer

    /// The reason why a transaction failed.
    enum DatabaseFailure: Error {
        /// The connection broke or cannot be made. Nobody knows whether the transaction happened.
        case connection(String)
        /// No server can be reached. Nothing of the transaction happened.
        case unreachable(String)
        /// The server refused a statement. Nothing of the transaction happened.
        case statement(code: String, message: String)
        /// The time was up. Nobody knows whether the transaction happened.
        case timedOut
        /// The transaction may be on this server only. If this server fails, the transaction is lost.
        case notReplicated
        /// The server cannot be used as it is.
        case unfit(String)
        /// A value in the database has the wrong form.
        case damaged

        /// The codes of the server after which this connection is useless. Another one may work.
        private static let endings = [
            "57P01",  // The server is being shut down.
            "57P02",  // Another server process crashed.
            "57P03",  // The server starts or ends.
            "57P05",  // The connection was idle for too long.
            "25006",  // This server became a standby.
        ]

        /// Reads an error of the server. The details of an error may show stored values, so they are dropped.
        static func refused(code: String?, message: String?) -> DatabaseFailure {
            let message = message ?? "no details"
            guard let code, !endings.contains(code) else { return .connection(message) }
            // A cancellation ended the statement before the commit.
            return code == "57014" ? .timedOut : .statement(code: code, message: message)
        }

        /// The error for the users of the store.
        var error: KeyServiceServerError {
            switch self {
            case .connection(let message):
                KeyServiceServerError(
                    .busy, "The database cannot be reached: \(message)", isOutcomeUnknown: true)
            case .unreachable(let message):
                KeyServiceServerError(.busy, "The database cannot be reached: \(message)")
            case .timedOut:
                KeyServiceServerError(.busy, "The database did not answer in time.", isOutcomeUnknown: true)
            case .notReplicated:
                KeyServiceServerError(
                    .busy, "The standby of the database did not confirm a change in time.", isOutcomeUnknown: true)
            // Serialization failures and deadlocks, and waits for a lock that were too long.
            case .statement("40001", _), .statement("40P01", _), .statement("55P03", _): .busy
            case .statement(let code, let message):
                KeyServiceServerError(.storeUnusable, "The database cannot be used (\(code): \(message)).")
            case .unfit(let message): KeyServiceServerError(.configurationInvalid, message)
            case .damaged:
                KeyServiceServerError(
                    .storeUnusable, "A record in the database is damaged.", isOutcomeUnknown: true)
            }
        }
    }
#endif
