#if PostgreSQL
    internal import KeyServiceCore

    /// The statements for the state that all instances of the service share.
    enum StateStatements {
        private static let columns = """
            store_id, generation, max_guesses, max_guesses_total, retired_because, checked_in_at, clock_steady_since
            """
        /// The clock of the database, in seconds since 1970. All servers share it.
        private static let now = "extract(epoch FROM clock_timestamp())::bigint"

        static let state = Statement(name: "state", sql: "SELECT \(columns) FROM service")

        /// Writes the time, as ``StoreClock/checkIn(at:isClockSet:)``, and adds 1 to the generation. $1 is 1 if the
        /// server's clock was set.
        static let checkIn = Statement(
            name: "check_in",
            sql: """
                WITH present AS MATERIALIZED (SELECT \(now) AS time)
                UPDATE service SET generation = generation + 1, checked_in_at = present.time,
                    clock_steady_since = CASE
                        WHEN $1::bigint <> 0 OR (checked_in_at <> 0 AND (present.time - checked_in_at)
                            NOT BETWEEN -\(StoreClock.tolerance) AND \(StoreClock.longestGap)) THEN present.time
                        ELSE clock_steady_since END
                FROM present RETURNING \(columns)
                """)

        /// Notes a running server. The check-in before it keeps other servers out until the commit.
        static let noteServer = Statement(
            name: "note_server",
            sql: """
                INSERT INTO running_server VALUES ($1, \(now), $2) ON CONFLICT (number)
                DO UPDATE SET checked_in_at = excluded.checked_in_at, master_keys = excluded.master_keys
                """)
        /// Removes a server that ends, and those that crashed long ago.
        static let removeServer = Statement(
            name: "remove_server",
            sql: "DELETE FROM running_server WHERE number = $1 OR checked_in_at < \(now) - \(StoreClock.longestGap)")
        static let servers = Statement(
            name: "servers",
            sql: """
                SELECT master_keys FROM running_server
                WHERE abs(checked_in_at - \(now)) <= \(ServerCheckIn.lifetime)
                """)

        static let masterKeys = Statement(
            name: "master_keys", sql: "SELECT id, check_value FROM master_key ORDER BY id")

        static func read(_ rows: Rows) throws(DatabaseFailure) -> StoreState {
            StoreState(
                storeID: try rows.bytes(0, 0), generation: try rows.number(0, 1),
                clock: StoreClock(checkedInAt: try rows.number(0, 5), steadySince: try rows.number(0, 6)),
                limits: GuessLimits(
                    inARow: Int(clamping: try rows.number(0, 2)), inAll: Int(clamping: try rows.number(0, 3))),
                masterKeys: [], retiredBecause: rows.optionalText(0, 4))
        }

        static func readMasterKeys(_ rows: Rows) throws(DatabaseFailure) -> [StoredMasterKey] {
            var keys: [StoredMasterKey] = []
            for row in 0..<rows.count {
                let id = MasterKeyID(rawValue: UInt64(bitPattern: try rows.number(row, 0)))
                keys.append(StoredMasterKey(id: id, check: try rows.bytes(row, 1)))
            }
            return keys
        }
    }

    /// The statements for the audit logs of the service.
    enum AuditLogStatements {
        static let all = Statement(name: "audit_logs", sql: "SELECT id FROM audit_log ORDER BY id")

        static let add = Statement(
            name: "add_audit_log", sql: "INSERT INTO audit_log VALUES ($1) ON CONFLICT (id) DO NOTHING")
    }

    /// The statements for the identity of the service.
    enum IdentityStatements {
        static let read = Statement(name: "identity", sql: "SELECT master_key, content FROM service_identity")

        /// Has a row if there was no identity.
        static let add = Statement(
            name: "add_identity",
            sql: """
                INSERT INTO service_identity VALUES (1, $1, $2) ON CONFLICT (number) DO NOTHING RETURNING number
                """)

        /// Has a row if the identity was the old one.
        static let replace = Statement(
            name: "replace_identity",
            sql: """
                UPDATE service_identity SET master_key = $1, content = $2
                WHERE master_key = $3 AND content = $4 RETURNING number
                """)
    }
#endif
