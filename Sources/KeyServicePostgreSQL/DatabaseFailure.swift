#if PostgreSQL
    internal import Foundation
    internal import KeyServiceCore

    /// The reason why a transaction failed.
    enum DatabaseFailure: Error {
        /// The connection broke or cannot be made. Nobody knows whether the transaction happened.
        case connection(String)
        /// No server can be reached. Nothing of the transaction happened.
        case unreachable(String)
        /// The server does not let this user in. Waiting has no use, unless the server worked before.
        case rejected(String)
        /// The server refused a statement. Nothing of the transaction happened.
        case statement(code: String, message: String)
        /// The time was up. Nobody knows whether the transaction happened.
        case timedOut
        /// The transaction may be on this server only. If this server fails, the transaction is lost.
        case notReplicated
        /// The server cannot be used as it is.
        case unfit(String, Remedy? = nil)
        /// A value in the database has the wrong form.
        case damaged

        /// The codes of the server after which this connection is useless. Another one may work.
        private static let endings = [
            "57P01",  // The server is being shut down.
            "57P02",  // Another server process crashed.
            "57P03",  // The server starts or ends.
            "57P05",  // The connection was idle for too long.
            "25P03",  // The connection was idle for too long in the middle of a transaction.
            "25006",  // This server became a standby.
        ]

        /// Codes of the server for a wrong user, password or database. 28 is a class.
        private static let rejections = ["28", "3D000", "42501"]
        /// Words in libpq's own messages about a wrong setting, which have no code.
        private static let wrongSettings = [
            "does not support SSL", "certificate", "unknown ca", "private key file", "no password supplied", "invalid ",
        ]

        /// Reads libpq's verbose message about a connection that was not made. It has a line for each server.
        static func connecting(_ message: String) -> DatabaseFailure {
            let lines = message.split(separator: "\n").map(String.init)
            let rejection = lines.first { line in
                // The names of the server come first.
                let line = line.range(of: " failed: ").map { line[$0.upperBound...] } ?? line[...]
                // The code comes after the severity: "FATAL:  28P01: ".
                let code = line.range(of: ":  ").map { line[$0.upperBound...] } ?? ""
                return rejections.contains { code.hasPrefix($0) } || wrongSettings.contains { line.contains($0) }
            }
            return rejection.map { .rejected($0) } ?? .connection(lines.first ?? "no details")
        }

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
            case .rejected(let message):
                KeyServiceServerError(
                    .configurationInvalid,
                    """
                    The database refuses the connection: \(message). Check the user, the database, passfile and sslmode \
                    in the address of the database, and pg_hba.conf of the server.
                    """, remedy: .correctDatabase)
            case .timedOut:
                KeyServiceServerError(.busy, "The database did not answer in time.", isOutcomeUnknown: true)
            case .notReplicated:
                KeyServiceServerError(
                    .busy, "The standby of the database did not confirm a change in time.", isOutcomeUnknown: true)
            // Serialization failures and deadlocks, and waits for a lock that were too long.
            case .statement("40001", _), .statement("40P01", _), .statement("55P03", _): .busy
            case .statement(let code, let message):
                KeyServiceServerError(.storeUnusable, "The database cannot be used (\(code): \(message)).")
            case .unfit(let message, let remedy): KeyServiceServerError(.configurationInvalid, message, remedy: remedy)
            case .damaged:
                KeyServiceServerError(
                    .storeUnusable, "A record in the database is damaged.", isOutcomeUnknown: true)
            }
        }
    }
#endif
