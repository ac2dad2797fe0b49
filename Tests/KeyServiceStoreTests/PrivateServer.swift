#if PostgreSQL
    import Foundation
    import Testing

    /// A PostgreSQL server of this test run: a socket in a folder of its own, no TCP port. It ends with this process.
    final class PrivateServer: Sendable {
        /// The server, or the reason why it does not start.
        static var shared: PrivateServer {
            get async throws { try await starting.value }
        }

        private static let starting = Task { try await PrivateServer() }

        /// The shell ends the server as soon as its standard input is closed, however this process ends.
        private static let script = """
            set -eu
            folder=$1
            primary=$2
            programs=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
            as_owner=
            if [ "$(id -u)" = 0 ]; then
                chown postgres "$folder"
                as_owner="setpriv --reuid=postgres --regid=postgres --clear-groups"
            fi
            cd /
            if [ -n "$primary" ]; then
                $as_owner "$programs/pg_basebackup" -h "$primary" -U postgres -D "$folder/data" -R -c fast --no-sync \
                    >"$folder/log" 2>&1
            else
                $as_owner "$programs/initdb" -D "$folder/data" -A trust -U postgres --no-sync >"$folder/log" 2>&1
            fi
            $as_owner "$programs/postgres" -D "$folder/data" -c listen_addresses= -c fsync=off \
                -c unix_socket_directories="$folder" >>"$folder/log" 2>&1 </dev/null &
            until "$programs/pg_isready" -q -h "$folder"; do kill -0 $!; sleep 0.05; done
            echo "$programs"
            read -r _ || true
            kill -QUIT $!
            wait $! || true
            rm -rf "$folder"
            """

        private let folder: String
        private let programs: String
        /// Kept open until this process ends.
        private let input: Pipe

        /// Starts a server of its own for a test that changes the server's settings.
        ///
        /// - Parameter primary: the server that it follows as an asynchronous standby; nil for none.
        init(standbyOf primary: PrivateServer? = nil) async throws {
            // A short path, as it has a socket.
            folder = "/tmp/vault-pg-\(UUID().uuidString.prefix(8))"
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments = ["-c", Self.script, "sh", folder, primary?.folder ?? ""]
            let (input, output) = (Pipe(), Pipe())
            process.standardInput = input
            process.standardOutput = output
            try process.run()
            self.input = input
            let first = output.fileHandleForReading.availableData
            programs = String(decoding: first, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            let log = (try? String(contentsOfFile: folder + "/log", encoding: .utf8)) ?? ""
            try #require(!programs.isEmpty, "PostgreSQL does not start: \(log)")
        }

        /// Ends the server if it is not the shared one.
        deinit { try? input.fileHandleForWriting.close() }

        struct Database: Sendable {
            let url: String
            fileprivate let server: PrivateServer
            fileprivate let name: String

            /// Runs SQL as the superuser.
            @discardableResult
            func run(_ sql: String) throws -> String { try server.run(sql, database: name) }

            /// Runs SQL in a transaction that stays open.
            func begin(_ sql: String) throws -> Transaction {
                try Transaction(server.psql(database: name), sql)
            }
        }

        /// Makes an empty database.
        func makeDatabase() throws -> Database {
            let name = "vault_\(UUID().uuidString.prefix(8).lowercased())"
            try run("CREATE DATABASE \(name)", database: "postgres")
            return Database(url: "postgresql://postgres@/\(name)?host=\(folder)", server: self, name: name)
        }

        /// An open transaction.
        final class Transaction: @unchecked Sendable {
            // Sound because one test uses it.
            private let process: Process
            private let input = Pipe()

            fileprivate init(_ psql: Process, _ sql: String) throws {
                process = psql
                let output = Pipe()
                process.standardInput = input
                process.standardOutput = output
                try process.run()
                try input.fileHandleForWriting.write(contentsOf: Data("BEGIN; \(sql);\n\\echo open\n".utf8))
                let answer = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
                try #require(answer == "open\n")
            }

            func end() throws {
                try input.fileHandleForWriting.close()
                process.waitUntilExit()
            }
        }

        private func psql(database: String) -> Process {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: programs + "/psql")
            process.arguments = ["-XAtq", "-v", "ON_ERROR_STOP=1", "-h", folder, "-U", "postgres", "-d", database]
            return process
        }

        @discardableResult
        private func run(_ sql: String, database: String) throws -> String {
            let process = psql(database: database)
            process.arguments? += ["-c", sql]
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            try #require(process.terminationStatus == 0, "\(sql)")
            return text.trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }
#endif
