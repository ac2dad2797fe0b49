import CLinux
import Glibc
import VaultAgentProtocol

/// A command that the agent may answer at once: `vault token`, also with `--user`, and `vault users`.
enum QuickRequest {
    /// An empty name stands for the setting `user`, or else for the only account.
    case token(user: String)
    case users

    /// - Returns: nil for any other command or option.
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

    /// The text to print; nil if the agent cannot answer at once.
    func answer() -> String? {
        guard let folder = Self.folder, Self.variable("CREDENTIAL_VAULT_AGENT") == nil,
            let usualUser = Self.usualUser,
            let path = AgentSocket.path(runtimeFolder: Self.variable("XDG_RUNTIME_DIR"), accountsFolder: folder),
            let connection = try? AgentConnection(path: path, timeout: 1)
        else { return nil }
        // A token passes through this process.
        _ = linux_forbid_dumps()
        switch self {
        case .users:
            guard case .text(let table)? = try? connection.ask(.accountTable), !table.isEmpty,
                Self.fitsTerminal(table)
            else { return nil }
            return table
        case .token(let named):
            let user = named.isEmpty ? Self.variable("CREDENTIAL_VAULT_USER") ?? usualUser : named
            guard case .token(let token)? = try? connection.ask(.quickToken(user: user, minimumSeconds: 60)) else {
                return nil
            }
            return token.value + "\n"
        }
    }

    /// Whether no line is wider than the terminal. The full command writes a wider table in another form.
    private static func fitsTerminal(_ table: String) -> Bool {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return true }
        return table.split(separator: "\n").allSatisfy { $0.count <= Int(size.ws_col) }
    }

    /// The folder of the accounts; nil if only the full command can find it.
    private static var folder: String? {
        if let home = variable("CREDENTIAL_VAULT_HOME") { return home }
        return AgentSocket.usualFolder(dataHome: variable("XDG_DATA_HOME"), home: variable("HOME"))
    }

    /// The setting `user` of the configuration file; empty for none. Nil if the file may name another folder of accounts,
    /// or switch off the agent: only the full command can read all of it. Nil also if the file of the machine has one of
    /// these three settings.
    private static var usualUser: String? {
        let base: String
        if let config = variable("XDG_CONFIG_HOME"), config.hasPrefix("/") {
            base = config
        } else if let home = variable("HOME"), home.hasPrefix("/") {
            base = home + "/.config"
        } else {
            return nil
        }
        guard let machine = plainText(of: "/etc/credential-vault/config.json"), !machine.contains("\"user\""),
            let text = plainText(of: base + "/credential-vault/config.json")
        else { return nil }
        return user(in: text)
    }

    /// The text of a file of settings; empty if there is no file. Nil if only the full command can read all of it.
    private static func plainText(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return errno == ENOENT ? "" : nil }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        let count = read(descriptor, &buffer, buffer.count)
        guard count >= 0, count < buffer.count else { return nil }
        let text = String(decoding: buffer[..<count], as: UTF8.self)
        // A name in a JSON text may also be written with escapes.
        guard !text.contains("\"home\""), !text.contains("\"agent\""), !text.contains("\\") else { return nil }
        return text
    }

    /// The setting `user` in a JSON text without escapes; empty for none. Nil if the text is not as `vault config set`
    /// writes it.
    private static func user(in text: String) -> String? {
        let names = text.ranges(of: "\"user\"")
        guard let name = names.first else { return "" }
        guard names.count == 1, text.count(where: { $0 == "{" }) == 1 else { return nil }
        var rest = text[name.upperBound...].drop { $0.isWhitespace }
        guard rest.popFirst() == ":" else { return nil }
        rest = rest.drop { $0.isWhitespace }
        guard rest.popFirst() == "\"", let end = rest.firstIndex(of: "\"") else { return nil }
        return String(rest[..<end])
    }

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
