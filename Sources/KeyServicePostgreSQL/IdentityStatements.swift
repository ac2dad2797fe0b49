#if PostgreSQL
    internal import KeyServiceCore

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
