import CLinux
import Glibc
import VaultAgentProtocol

/// A command that the agent may answer at once: `vault token`, also with `--user`, and `vault users`.
enum QuickRequest {
    case token(user: String)
    case users

    /// - Returns: nil for every other command, and for every other option.
    init?(_ arguments: ArraySlice<String>) {
        var words = arguments
        switch words.popFirst() {
        case "users" where words.isEmpty: self = .users
        case "token":
            switch (words.popFirst(), words.popFirst(), words.isEmpty) {
            case (nil, nil, true): self = .token(user: "")
            case ("--user", let user?, true) where !user.isEmpty && !user.hasPrefix("-"): self = .token(user: user)
            default: return nil
            }
        default: return nil
        }
    }

    /// What to print; nil when the agent cannot say it at once.
    func answer() -> String? {
        // A setting that is there and empty is for the full command to judge.
        let home = Self.variable("CREDENTIAL_VAULT_HOME")
        guard home != "", Self.variable("CREDENTIAL_VAULT_AGENT") == nil,
            let path = AgentSocket.path(runtimeFolder: Self.variable("XDG_RUNTIME_DIR"), accountsFolder: home),
            let connection = try? AgentConnection(path: path, patience: 1)
        else { return nil }
        // A token passes through this process.
        _ = linux_forbid_dumps()
        switch self {
        case .users:
            guard case .text(let table)? = try? connection.ask(.accountTable), !table.isEmpty else { return nil }
            return table
        case .token(let user):
            guard case .token(let token)? = try? connection.ask(.quickToken(user: user, minimumSeconds: 60)) else {
                return nil
            }
            return token.value + "\n"
        }
    }

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
