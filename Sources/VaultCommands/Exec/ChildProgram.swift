internal import CLinux
internal import CredentialVault
internal import Foundation
internal import VaultBase

/// A program that this process starts without a shell. Its standard input and output are one socket, and ``descriptor``
/// is the other end. Its standard error is ours or `/dev/null`.
final class ChildProgram: Sendable {
    /// This end of the socket. It is closed with this object.
    let descriptor: Int32
    /// The process id; nil when the program has ended.
    private let number: Lock<pid_t?>
    private let hasOwnGroup: Bool

    /// Starts the program.
    ///
    /// - Parameters:
    ///   - arguments: the arguments, without the name of the program.
    ///   - hasOwnGroup: whether ``kill()`` also ends the programs that this program started.
    ///   - isQuiet: whether its standard error is `/dev/null`.
    /// - Throws: `VaultError` with code `configurationInvalid` when it cannot be started.
    init(_ path: String, _ arguments: [String], hasOwnGroup: Bool = false, isQuiet: Bool = false) throws {
        self.hasOwnGroup = hasOwnGroup
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw Self.failure(path) }
        defer { close(ends[1]) }
        guard let number = Self.start(path, arguments, ends[1], hasOwnGroup, isQuiet) else {
            close(ends[0])
            throw Self.failure(path)
        }
        descriptor = ends[0]
        self.number = Lock(number)
    }

    deinit {
        kill()
        close(descriptor)
    }

    private static func failure(_ path: String) -> VaultError {
        VaultError(.configurationInvalid, "The program \(path) cannot be started.")
    }

    private static func start(
        _ path: String, _ arguments: [String], _ socket: Int32, _ hasOwnGroup: Bool, _ isQuiet: Bool
    ) -> pid_t? {
        let inherited = InheritedState.saved
        inherited.hideFiles()
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO)
        if isQuiet { posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) }
        var (defaults, mask) = (inherited.defaultSignals, inherited.mask)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setsigmask(&attributes, &mask)
        var flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
        if hasOwnGroup { flags |= POSIX_SPAWN_SETPGROUP }
        posix_spawnattr_setflags(&attributes, Int16(flags))
        let words = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        let variables = inherited.environment() + [nil]
        var number = pid_t()
        return posix_spawn(&number, path, &actions, &attributes, words, variables) == 0 ? number : nil
    }

    /// Ends the program if it still runs. A waiting read of ``descriptor`` ends, too.
    func kill() {
        number.withLock { number in
            guard let running = number else { return }
            Foundation.kill(hasOwnGroup ? -running : running, SIGKILL)
            _ = Self.wait(running)
            number = nil
        }
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Waits for the end of the program.
    ///
    /// - Returns: the exit status, as a shell has it.
    func status() -> Int32 {
        number.withLock { number in
            guard let running = number else { return 128 + SIGKILL }
            number = nil
            let status = Self.wait(running)
            return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
        }
    }

    private static func wait(_ number: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(number, &status, 0) < 0 && errno == EINTR {}
        return status
    }

    /// Runs a program to its end, with empty standard input.
    ///
    /// - Returns: the exit status and the output.
    static func run(
        _ path: String, _ arguments: [String], isQuiet: Bool = false
    ) throws -> (status: Int32, output: [UInt8]) {
        let program = try ChildProgram(path, arguments, isQuiet: isQuiet)
        shutdown(program.descriptor, Int32(SHUT_WR))
        var output: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(program.descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { break }
            output += buffer[..<count]
        }
        return (program.status(), output)
    }
}
