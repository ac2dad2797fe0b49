internal import CLinux
internal import CredentialVault
internal import Foundation
internal import VaultBase

/// Starts the agent as a separate process.
enum AgentLauncher {
    /// The line that the agent writes when it listens.
    static let ready = "ready"

    /// Starts the agent, and returns when an agent listens. Another command may have started that agent.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid` and the message of the agent.
    static func start(_ global: GlobalOptions, options: [String] = []) async throws {
        let answer = try await onThread { try launch(arguments(global) + options) }
        guard answer != ready else { return }
        throw VaultError(
            .configurationInvalid, answer.isEmpty ? "The agent ended before it was ready." : answer)
    }

    private static func arguments(_ global: GlobalOptions) -> [String] {
        ["agent", "start", "--foreground"] + (global.caFile.map { ["--ca-file", $0] } ?? [])
    }

    /// - Returns: the first line that the agent writes.
    private static func launch(_ arguments: [String]) throws -> String {
        let program = try ProgramPath.own
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw failure(errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        // A new session: the agent must not end with the terminal.
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | setSession))
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], readyDescriptor)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        // The shell's other files are closed: an open lock or pipe would make another program wait.
        linux_spawn_close_from(&actions, readyDescriptor + 1)
        let words = (["vault"] + arguments + ["--ready-fd", "\(readyDescriptor)"]).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var process: pid_t = 0
        let status = posix_spawn(&process, program, &actions, &attributes, words, environ)
        close(ends[1])
        guard status == 0 else { throw failure(status) }
        return line(from: ends[0])
    }

    private static let readyDescriptor: Int32 = 3
    /// POSIX_SPAWN_SETSID, which Swift does not see.
    private static let setSession: Int32 = 0x80

    private static func line(from descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while bytes.count < 4096 {
            let count = read(descriptor, &byte, 1)
            if count < 0 && errno == EINTR { continue }
            guard count > 0, byte != UInt8(ascii: "\n") else { break }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func failure(_ code: Int32) -> VaultError {
        VaultError(.configurationInvalid, "The agent could not be started (error \(code)).")
    }
}
