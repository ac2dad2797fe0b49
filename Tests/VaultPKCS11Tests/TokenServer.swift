#if PKCS11
    import Foundation
    import TestSupport
    import Testing
    import VaultBiometric
    import VaultCrypto

    @testable import VaultPKCS11

    /// A token in a separate process, which p11-kit reaches through a local socket. The end of the process acts like
    /// pulling out the token.
    final class TokenServer: @unchecked Sendable {
        // Sound because each test calls the changing functions from one place at a time.
        let folder: URL
        let module: String
        private let library: String
        let environment: [String: String]
        private var process: Program?

        var socket: String { folder.appending(path: "s").path }
        /// The URI part that names only the module.
        var uri: String { "pkcs11:?module-name=\(module)" }

        init(library: String, environment: [String: String], folder: URL) throws {
            self.library = try Program.library(library)
            self.environment = environment
            self.folder = folder
            module = try TestModules.add(socket: folder.appending(path: "s").path)
        }

        deinit {
            unplug()
            TestModules.remove(module)
            try? FileManager.default.removeItem(at: folder)
        }

        static func newFolder() throws -> URL {
            let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            return folder
        }

        func plugIn() throws {
            let output = folder.appending(path: "output").path
            try Data().write(to: URL(filePath: output))
            let process = try Program(
                ["p11-kit", "server", "--foreground", "--name", socket, "--provider", library, "pkcs11:"],
                environment: environment, output: output)
            self.process = process
            // The server prints its address when it listens.
            while try String(contentsOfFile: output, encoding: .utf8).isEmpty {
                var status: Int32 = 0
                try #require(waitpid(process.id, &status, WNOHANG) == 0, "p11-kit server does not start")
                sched_yield()
            }
        }

        func unplug() {
            guard let process else { return }
            process.signal(SIGKILL)
            _ = try? process.ended()
            self.process = nil
            for name in ["s", "output"] { try? FileManager.default.removeItem(at: folder.appending(path: name)) }
        }

        func signal(_ number: Int32) { process?.signal(number) }

        /// Runs pkcs11-tool on the token, beside the server.
        func tool(_ arguments: String...) throws {
            try Program.run(["pkcs11-tool", "--module", library] + arguments, environment: environment)
        }
    }

    /// A token that SoftHSM plays.
    struct SoftToken {
        let server: TokenServer
        let configuration: String
        static let pin = Person.pin

        var provider: PKCS11Provider { PKCS11Provider(server.uri) }

        /// - Parameter keys: the kinds of keys on the token, by pkcs11-tool's names. Their ids are 01, 02 and so on.
        init(label: String = "vault", keys: [String] = ["rsa:2048"], isPluggedIn: Bool = true) throws {
            let folder = try TokenServer.newFolder()
            configuration = folder.appending(path: "softhsm2.conf").path
            let tokens = folder.appending(path: "tokens").path
            try FileManager.default.createDirectory(atPath: tokens, withIntermediateDirectories: true)
            try Data("directories.tokendir = \(tokens)\nobjectstore.backend = file\nslots.removable = true\n".utf8)
                .write(to: URL(filePath: configuration))
            let environment = ["SOFTHSM2_CONF": configuration]
            server = try TokenServer(library: "libsofthsm2.so", environment: environment, folder: folder)
            try initialize(label)
            for (index, kind) in keys.enumerated() { try makeKey(kind, id: "0\(index + 1)") }
            if isPluggedIn { try server.plugIn() }
        }

        /// Erases the token, or makes another token if one exists already.
        func initialize(_ label: String) throws {
            try Program.run(
                [
                    "softhsm2-util", "--init-token", "--free", "--label", label, "--so-pin", "12345678", "--pin",
                    Self.pin,
                ],
                environment: ["SOFTHSM2_CONF": configuration])
        }

        func makeKey(_ kind: String, id: String, _ more: String...) throws {
            let usage = kind.hasPrefix("rsa") ? "--usage-decrypt" : "--usage-derive"
            try Program.run(
                [
                    "pkcs11-tool", "--module", Program.library("libsofthsm2.so"), "--login", "--pin", Self.pin,
                    "--keypairgen", "--key-type", kind, "--id", id, "--label", "key \(id)",
                ] + (more.isEmpty ? [usage] : more), environment: ["SOFTHSM2_CONF": configuration])
        }

        /// Runs `body` in a separate session of the test.
        func loggedIn<Answer: Sendable>(
            _ body: @escaping @Sendable (TokenSession) throws -> Answer
        ) async throws -> Answer {
            let uri = server.uri
            return try await HardwareThread.forToken(limit: .seconds(120), clock: ContinuousClock()).run { isGivenUp in
                let connection = TokenConnection(uri)
                defer { connection.close() }
                try connection.open(isGivenUp: isGivenUp)
                let pin = SharedSecret(try SecretBytes(utf8: Self.pin))
                return try connection.tokenToEnrol().withLogin(pin, canWrite: true, body)
            }
        }

        func removeKey(id: String) throws {
            for type in ["privkey", "pubkey"] {
                try server.tool("--login", "--pin", Self.pin, "--delete-object", "--type", type, "--id", id)
            }
        }
    }
#endif
