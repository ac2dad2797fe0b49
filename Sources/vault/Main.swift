import Glibc

/// The command `vault`. In a millisecond, this program prints the help of the whole program, or what the agent can
/// answer at once. Otherwise `vault-command` replaces this process.
@main
struct Main {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        if let text = Overview.text(for: arguments) ?? QuickRequest(arguments)?.answer() { end(Self.write(text)) }
        FullCommand.takeOver()
    }

    /// - Returns: the error number; 0 if everything was written.
    private static func write(_ text: String) -> Int32 {
        // Only here: vault-command must not find the signal ignored.
        signal(SIGPIPE, SIG_IGN)
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            if count < 0 && errno == EAGAIN {
                var ready = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
                continue
            }
            guard count > 0 else { return errno }
            bytes = bytes.dropFirst(count)
        }
        return 0
    }

    /// Ends the process. A reader that has gone has what it wanted.
    private static func end(_ errorNumber: Int32) -> Never {
        guard errorNumber != 0, errorNumber != EPIPE else { exit(0) }
        let reason = strerror(errorNumber).map { String(cString: $0) } ?? "error \(errorNumber)"
        let text = "vault: The output could not be written: \(reason).\n"
        _ = text.withCString { Glibc.write(STDERR_FILENO, $0, strlen($0)) }
        exit(74)
    }
}
