import CLinux
import Glibc
import VaultAgentProtocol

/// The command `vault`. If the agent can answer at once, this program prints the answer, in a millisecond. Otherwise
/// `vault-command` replaces this process.
@main
struct Main {
    static func main() {
        if let request = QuickRequest(CommandLine.arguments.dropFirst()), let text = request.answer() {
            exit(Self.write(text) ? 0 : 1)
        }
        FullCommand.takeOver()
    }

    private static func write(_ text: String) -> Bool {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return false }
            bytes = bytes.dropFirst(count)
        }
        return true
    }
}
