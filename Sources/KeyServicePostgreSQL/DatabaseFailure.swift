#if PostgreSQL
    internal import KeyServiceServer

    /// What went wrong with a transaction.
    enum DatabaseFailure: Error {
        /// The connection broke or cannot be made. Nobody knows whether the transaction happened.
        case connection(String)
        /// The server refused a statement. Nothing of the transaction happened.
        case statement(code: String, message: String)
        /// The time was up. Nobody knows whether the transaction happened.
        case timedOut
        /// The transaction is on this server only. After a failure of this server it never happened.
        case notReplicated
        /// The server cannot be used as it is.
        case unfit(String)
        /// A value in the database has the wrong form.
        case damaged

        /// Codes of the server that mean: this connection has no use any more. Another one may work.
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
            // The time limit ended the statement before the commit.
            return code == "57014" ? .timedOut : .statement(code: code, message: message)
        }

        /// The error for the users of the store.
        var error: KeyServiceServerError {
            switch self {
            case .connection(let message):
                KeyServiceServerError(
                    .busy, "The database cannot be reached: \(message)", isOutcomeUnknown: true)
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
