#if PKCS11
    import Foundation
    import Testing

    /// A program that a test starts. It does not use `Process`, which would wait for programs left in the background.
    struct Program {
        let id: pid_t

        /// - Parameters:
        ///   - output: the file for its stdout.
        ///   - input: the descriptor for its stdin.
        init(_ command: [String], environment: [String: String] = [:], output: String = "/dev/null") throws {
            let variables = environment.map { "\($0)=\($1)" } + ["TSS2_LOG=all+none"]
            var arguments = (["env"] + variables + command).map { strdup($0) } + [nil]
            defer { for argument in arguments { free(argument) } }
            var files = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&files)
            defer { posix_spawn_file_actions_destroy(&files) }
            posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0)
            posix_spawn_file_actions_addopen(&files, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
            posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0)
            // The libraries leave their connections open to child processes, which would keep them alive.
            for descriptor in 3...1023 as ClosedRange<Int32> {
                posix_spawn_file_actions_addclose(&files, descriptor)
            }
            var attributes = posix_spawnattr_t()
            posix_spawnattr_init(&attributes)
            defer { posix_spawnattr_destroy(&attributes) }
            // A separate process group, so that a signal also reaches the programs that it starts.
            posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
            var id: pid_t = 0
            try #require(posix_spawnp(&id, "env", &files, &attributes, &arguments, environ) == 0)
            self.id = id
        }

        func signal(_ number: Int32) { kill(-id, number) }

        @discardableResult func ended() throws -> Int32 {
            var status: Int32 = 0
            while waitpid(id, &status, 0) < 0 { try #require(errno == EINTR) }
            return status
        }

        /// Runs it to its end.
        static func run(_ command: [String], environment: [String: String] = [:]) throws {
            let status = try Program(command, environment: environment).ended()
            try #require(status == 0, "\(command)")
        }

        /// A library of a Debian package. Debian names its folder after the processor.
        static func library(_ name: String) throws -> String {
            let folders =
                ["/usr/lib/softhsm"]
                + ((try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? [])
                .flatMap { ["/usr/lib/\($0)/pkcs11", "/usr/lib/\($0)"] }
            let path = folders.map { "\($0)/\(name)" }.first { FileManager.default.fileExists(atPath: $0) }
            return try #require(path, "\(name) is not installed")
        }
    }
#endif
