#if PostgreSQL
    /// The statements of the operator's calls.
    enum OperatorStatements {
        static let setLimits = Statement(
            name: "set_limits", sql: "UPDATE service SET max_guesses = $1, max_guesses_total = $2")
        static let setClock = Statement(
            name: "set_clock", sql: "UPDATE service SET checked_in_at = $1, clock_steady_since = $2")
        static let setGeneration = Statement(name: "set_generation", sql: "UPDATE service SET generation = $1")

        static let addMasterKey = Statement(
            name: "add_master_key",
            sql: "INSERT INTO master_key (id, check_value) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING")
        static let removeMasterKey = Statement(
            name: "remove_master_key",
            sql: """
                DELETE FROM master_key WHERE id = $1 AND NOT EXISTS (SELECT FROM key_record WHERE master_key = $1)
                    AND NOT EXISTS (SELECT FROM service_identity WHERE master_key = $1)
                """)
        static let masterKeyExists = Statement(
            name: "master_key_exists", sql: "SELECT count(*) FROM master_key WHERE id = $1")
        static let counts = Statement(
            name: "counts", sql: "SELECT master_key, count(*) FROM key_record GROUP BY master_key")
        static let delete = Statement(name: "delete", sql: "DELETE FROM key_record WHERE id = $1 RETURNING id")
        static let retire = Statement(
            name: "retire",
            sql: """
                UPDATE service SET retired_because = $1 WHERE retired_because IS NOT DISTINCT FROM $2 RETURNING number
                """)
        /// Deletes a key while the store is retired for a reason. The lock of the row keeps that reason until the commit.
        static let deleteRetired = Statement(
            name: "delete_retired",
            sql: """
                WITH claim AS MATERIALIZED (
                    SELECT number FROM service WHERE retired_because IS NOT DISTINCT FROM $2 FOR SHARE),
                gone AS (DELETE FROM key_record k USING claim WHERE k.id = $1)
                SELECT number FROM claim
                """)
    }
#endif
