import Glibc

/// The help of the whole program, which people ask for most often. `vault-command` makes the same text from its
/// commands, and takes ten times as long for it. A test compares both texts.
enum Overview {
    private static let introduction = """
        OVERVIEW: Sign in once with OpenID Connect, and after that with a password.

          vault setup
          vault login
          vault token

        The refresh token is sealed on the disk. To open it, vault needs the right password and the key service. \
        After a few wrong passwords, the key service locks the key.

        Settings come from options, from CREDENTIAL_VAULT_* in the environment, from your settings file, and from \
        the settings file of the machine. See "vault config --help".

        Exit status:
            0  done
            1  any other error
           64  wrong usage
           65  stored data or backup is damaged
           66  no such user, item or device
           69  provider or key service cannot be reached: try later
           74  output or store cannot be written, or store cannot be read
           75  busy or too many attempts: try again; one guess left after lost answers
           77  wrong password or PIN, or a new one is refused
           78  wrong or missing configuration
           80  key is locked or gone: use another unlock method, or register again
           81  refresh token has expired or is revoked: register again
           82  cancelled or denied
           83  logged out everywhere: register again. Offline too long: log in online
           84  hardware is missing, locked or failing: use another unlock method
           85  forbidden by the policy of this machine

        "vault exec" ends with the exit status of its command. With --json, errors are JSON on standard error.
        """

    private static let options: [(name: String, meaning: String)] = [
        ("--version", "Show the version."),
        ("-h, --help", "Show help information."),
    ]

    private static let commands: [(name: String, meaning: String)] = [
        ("setup", "Set up this machine: provider, client and key service."),
        ("register", "Sign in at an identity provider or backend, and choose a password."),
        ("login", "Sign in again with the password, a PIN or hardware, without a browser."),
        ("token", "Print a valid access token, and nothing else."),
        ("exec", "Run a command with an access token in its environment."),
        ("helper", "Give access tokens to git, docker, kubectl and curl."),
        ("userinfo", "Print the person's current claims from the provider or backend."),
        ("users", "List the accounts on this machine."),
        ("status", "Show the state of an account. Needs no password and no network."),
        ("item", "Keep your own secrets in an account."),
        ("lock", "Lock an account that the agent holds open."),
        ("agent", "Keep sessions open between commands."),
        ("account", "Rename an account, or change how it signs in."),
        ("backend", "Sign up at a backend, reset a password there, and list its sessions."),
        ("unlock", "List, add, rename, remove and reset the unlock methods of an account."),
        ("logout", "Log out of an account on this machine, or also at the identity provider."),
        ("delete", "Delete an account, its tokens and its items."),
        ("devices", "List, name and revoke the machines that open an account."),
        ("key-services", "Move an account to a key service."),
        ("passwd", "Change an account's password."),
        ("rekey", "Replace an account's vault key, so that a thief who had it reads nothing more."),
        ("export", "Write accounts and their items into a file, sealed under a passphrase."),
        ("import", "Import accounts and items from a file that \"vault export\" wrote."),
        ("doctor", "Check the store, the libraries, the machine and the services."),
        ("config", "Read and change your settings file."),
        ("completion", "Print a completion script for the shell."),
        ("manual", "Show the man page of vault, or of one command."),
    ]

    /// The column where the texts of the options and commands begin.
    private static let indent = 26

    /// - Returns: the help, with a line feed at the end; nil if the arguments ask for something else, or if the
    ///   terminal is too narrow for the longest words.
    static func text(for arguments: ArraySlice<String>) -> String? {
        guard arguments.count == 1, let word = arguments.first, word == "--help" || word == "-h" else { return nil }
        let columns = Self.columns
        guard columns >= 2 * indent else { return nil }
        let lines = introduction.split(separator: "\n", omittingEmptySubsequences: false)
        var text = ""
        for (index, line) in lines.enumerated() {
            text += wrapped(line, to: columns, isLast: index == lines.count - 1, separator: "\n") + "\n"
        }
        text += "\nUSAGE: vault <subcommand>\n\nOPTIONS:\n"
        for option in options { text += row(option, columns) }
        text += "\nSUBCOMMANDS:\n"
        for command in commands { text += row(command, columns) }
        return text + "\n  See 'vault help <subcommand>' for detailed help.\n"
    }

    private static func row(_ entry: (name: String, meaning: String), _ columns: Int) -> String {
        let label = "  " + entry.name
        let space = String(repeating: " ", count: indent - label.count)
        let separator = "\n" + String(repeating: " ", count: indent)
        return label + space + wrapped(entry.meaning[...], to: columns - indent, isLast: true, separator: separator)
            + "\n"
    }

    /// Breaks a line at its spaces.
    ///
    /// - Parameters:
    ///   - isLast: whether it is the last line of its text. The argument parser keeps the last column free in all
    ///     others.
    ///   - separator: stands between the pieces.
    private static func wrapped(_ line: Substring, to columns: Int, isLast: Bool, separator: String) -> String {
        var pieces: [Substring] = []
        var rest = line
        while rest.count > (isLast ? columns : columns - 1), let space = rest.prefix(columns).lastIndex(of: " ") {
            pieces.append(rest[..<space])
            rest = rest[rest.index(after: space)...]
        }
        return (pieces + [rest]).joined(separator: separator)
    }

    /// The width of the terminal. As for the argument parser, the variable wins.
    private static var columns: Int {
        if let variable = getenv("COLUMNS"), let columns = Int(String(cString: variable)) { return columns }
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }
}
