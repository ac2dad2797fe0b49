#if TPM2
    import Foundation
    import TestSupport
    import Testing

    /// A test's own TPM: swtpm, on two neighbouring ports of loopback.
    final class SoftwareTPM {
        let port: Int
        private let folder: URL
        private var process: pid_t = 0

        var tcti: String { "swtpm:host=127.0.0.1,port=\(port)" }

        init() throws {
            folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            var (started, port) = (false, 0)
            // Another program may take the ports between the check and the start.
            for _ in 0..<20 where !started {
                port = try Self.freePort()
                started = try Self.run(Self.start(port, folder)) == 0
            }
            try #require(started)
            self.port = port
            try readProcess()
        }

        deinit {
            if process > 0 { kill(process, SIGKILL) }
            try? FileManager.default.removeItem(at: folder)
        }

        private static func freePort() throws -> Int { try Socket.listeningPair().commands.port }

        /// swtpm listens when this command returns, and runs on in the background.
        private static func start(_ port: Int, _ folder: URL) -> [String] {
            [
                "swtpm", "socket", "--tpm2", "--tpmstate", "dir=\(folder.path)",
                "--server", "type=tcp,bindaddr=127.0.0.1,port=\(port)",
                "--ctrl", "type=tcp,bindaddr=127.0.0.1,port=\(port + 1)",
                "--flags", "not-need-init,startup-clear", "--daemon", "--pid", "file=\(folder.path)/pid",
            ]
        }

        private func readProcess() throws {
            // A process that answers has already written its process id.
            try readClock()
            let text = try String(contentsOf: folder.appending(path: "pid"), encoding: .utf8)
            process = try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        }

        private func readClock() throws {
            _ = try exchange([0x80, 0x01, 0, 0, 0, 10, 0, 0, 0x01, 0x81])
        }

        func exchange(_ command: [UInt8]) throws -> [UInt8] { try Self.exchange(command, port) }

        private static func exchange(_ command: [UInt8], _ port: Int) throws -> [UInt8] {
            let socket = try Socket.connected(to: .port(port))
            try socket.write(command)
            return try socket.readMessage()
        }

        func signal(_ number: Int32) {
            if process > 0 { kill(process, number) }
        }

        /// Ends the TPM at once, and waits until it is gone.
        func powerOff() throws {
            let socket = try Socket.connected(to: .port(port + 1))
            kill(process, SIGKILL)
            process = 0
            _ = try? socket.readSome()
        }

        func powerOn() throws {
            try #require(try Self.run(Self.start(port, folder)) == 0)
            try readProcess()
        }

        /// Acts like a sudden restart of the machine.
        func reset() throws { try Self.reset(port) }

        static func reset(_ port: Int) throws {
            let control = try Socket.connected(to: .port(port + 1))
            try control.write([0, 0, 0, 2, 0, 0, 0, 0])  // initialize, keep nothing volatile
            try #require(try control.read(4) == [0, 0, 0, 0])
            _ = try exchange([0x80, 0x01, 0, 0, 0, 12, 0, 0, 0x01, 0x44, 0, 0], port)  // TPM2_Startup(CLEAR)
        }

        /// Runs one of tpm2-tools on it.
        func tool(_ arguments: String...) throws {
            let status = try Self.run(arguments, in: folder, environment: ["TPM2TOOLS_TCTI": tcti])
            try #require(status == 0, "\(arguments)")
        }

        /// Makes a key as its owner would, and stores it in the place of the storage root key.
        func provision(_ arguments: String...) throws {
            let make = ["tpm2_createprimary", "-Q", "-C", "o", "-c", "key.ctx"] + arguments
            let environment = ["TPM2TOOLS_TCTI": tcti]
            try #require(try Self.run(make, in: folder, environment: environment) == 0)
            try tool("tpm2_flushcontext", "-t")
            try tool("tpm2_evictcontrol", "-Q", "-C", "o", "-c", "key.ctx", "0x81000001")
            try tool("tpm2_flushcontext", "-t")
        }

        /// The number of places that objects and sessions take in the TPM now.
        func used() throws -> Int {
            // TPM2_GetCapability(HANDLES): transient objects, then loaded sessions of both kinds.
            try [0x80, 0x02, 0x03].map { (kind: UInt8) in
                let answer = try exchange([
                    0x80, 0x01, 0, 0, 0, 22, 0, 0, 0x01, 0x7A, 0, 0, 0, 1, kind, 0, 0, 0, 0, 0, 0, 16,
                ])
                return answer[15..<19].reduce(0) { $0 << 8 | Int($1) }
            }.reduce(0, +)
        }

        /// Runs a program to its end. It does not use `Process`, which would also wait for programs left in the
        /// background.
        private static func run(
            _ command: [String], in folder: URL? = nil, environment: [String: String] = [:]
        ) throws -> Int32 {
            let variables = environment.map { "\($0)=\($1)" } + ["TSS2_LOG=all+none"]
            let line = ["env", "-C", folder?.path ?? "/"] + variables + command
            var arguments = line.map { strdup($0) } + [nil]
            defer { for argument in arguments { free(argument) } }
            var files = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&files)
            defer { posix_spawn_file_actions_destroy(&files) }
            for descriptor in 0...2 as ClosedRange<Int32> {
                posix_spawn_file_actions_addopen(&files, descriptor, "/dev/null", O_RDWR, 0)
            }
            // The library leaves its connections open to child processes, which would keep them alive.
            for descriptor in 3...1023 as ClosedRange<Int32> {
                posix_spawn_file_actions_addclose(&files, descriptor)
            }
            var process: pid_t = 0
            try #require(posix_spawnp(&process, "env", &files, nil, &arguments, environ) == 0)
            var status: Int32 = 0
            while waitpid(process, &status, 0) < 0 { try #require(errno == EINTR) }
            return status
        }
    }
#endif
