#if PostgreSQL
    internal import CPostgreSQL
    internal import Foundation
    internal import KeyServiceCore

    /// The address of a database: what libpq reads from a URL, without secrets.
    struct DatabaseURL: Sendable {
        /// One server of the URL. libpq takes no time limit for each of several servers, so they are tried one by one.
        struct Server: Sendable {
            /// The parameters for libpq.
            let parameters: [(name: String, value: String)]
            /// The host for messages.
            let name: String
        }

        /// The servers, in the order of the URL. The first one that accepts writes is used.
        let servers: [Server]
        /// The library that read the URL. A machine without it has no use for the URL.
        let libpq: LibPQ

        /// Reads `postgresql://USER@HOST:PORT,HOST:PORT/DATABASE?NAME=VALUE`.
        ///
        /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid`, without the URL. Also if libpq is not
        ///   installed.
        init(_ text: String, environment: [String: String] = ProcessInfo.processInfo.environment) throws {
            libpq = try LibPQ.open()
            let options = try Self.options(of: text, libpq)
            func refuse(_ message: String, remedy: Remedy? = nil) -> KeyServiceServerError {
                KeyServiceServerError(.configurationInvalid, message, remedy: remedy)
            }
            guard options["password"] == nil, options["sslpassword"] == nil, environment["PGPASSWORD"] == nil else {
                throw refuse(
                    """
                    The address of the database has a password, or PGPASSWORD has one. Other users of this machine may \
                    see it. Write the password into a file of mode 0600 and add ?passfile=FILE to the address. Or use \
                    the methods peer or cert of pg_hba.conf, which need no password.
                    """)
            }
            let hidden = ["PGHOSTADDR", "PGSERVICE", "PGSERVICEFILE"].filter { environment[$0] != nil }
            guard hidden.isEmpty, options["service"] == nil, options["servicefile"] == nil else {
                throw refuse(
                    """
                    A service file or PGHOSTADDR would name another server than the address of the database. Write \
                    the server into that address. Remove \
                    \(hidden.isEmpty ? "?service=" : hidden.joined(separator: " and ")).
                    """, remedy: .correctDatabase)
            }
            let hosts = Self.list(options["host"])
            let addresses = Self.list(options["hostaddr"])
            let ports = Self.list(options["port"])
            let count = max(hosts.count, addresses.count, 1)
            guard [hosts.count, addresses.count].allSatisfy({ $0 == 0 || $0 == count }),
                ports.count <= 1 || ports.count == count
            else { throw refuse("The address of the database has not as many ports as hosts.") }
            servers = try (0..<count).map { index in
                var own = options
                // libpq takes an empty word for a missing one.
                own["host"] = hosts.isEmpty || hosts[index].isEmpty ? nil : hosts[index]
                own["hostaddr"] = addresses.isEmpty || addresses[index].isEmpty ? nil : addresses[index]
                own["port"] = ports.isEmpty ? nil : ports[ports.count == 1 ? 0 : index]
                own["target_session_attrs"] = "read-write"
                own["application_name"] = own["application_name"] ?? "vault-key-service"
                own["client_encoding"] = "UTF8"
                let name = own["hostaddr"] ?? own["host"] ?? environment["PGHOST"] ?? ""
                if !Self.isLocal(name) {
                    let mode = own["sslmode"] ?? environment["PGSSLMODE"] ?? "verify-full"
                    guard mode == "verify-full" || mode == "verify-ca" else {
                        throw refuse(
                            """
                            The connection to \(name) would not check the server's certificate. Add \
                            ?sslmode=verify-full&sslrootcert=FILE to the address of the database.
                            """)
                    }
                    own["sslmode"] = mode
                    // An encryption with Kerberos would take the place of TLS.
                    own["gssencmode"] = "disable"
                }
                return Server(
                    parameters: own.sorted { $0.key < $1.key }.map { ($0.key, $0.value) },
                    name: name.isEmpty ? "the local socket" : name)
            }
        }

        private static func options(of text: String, _ libpq: LibPQ) throws -> [String: String] {
            var message: UnsafeMutablePointer<CChar>?
            defer { libpq.PQfreemem(message) }
            guard text.hasPrefix("postgresql://") || text.hasPrefix("postgres://"),
                let first = libpq.PQconninfoParse(text, &message)
            else {
                // libpq's message has parts of the URL, so it is dropped.
                throw KeyServiceServerError(
                    .configurationInvalid,
                    "The address of the database is not valid. Write: postgresql://USER@HOST:PORT/DATABASE")
            }
            defer { libpq.PQconninfoFree(first) }
            var found: [String: String] = [:]
            var option = first
            while let name = option.pointee.keyword {
                if let value = option.pointee.val { found[String(cString: name)] = String(cString: value) }
                option += 1
            }
            return found
        }

        private static func list(_ text: String?) -> [String] {
            guard let text, !text.isEmpty else { return [] }
            return text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }

        /// Whether nobody between this process and the server can read or change anything.
        private static func isLocal(_ host: String) -> Bool {
            // PGHOST may name several servers.
            guard !host.contains(",") else { return false }
            return host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") || host == "localhost" || host == "::1"
                || host.hasPrefix("127.") && host.allSatisfy { $0.isNumber || $0 == "." }
        }
    }
#endif
