internal import ArgumentParser
internal import CredentialVault

struct ExportCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write accounts and their items into a file, sealed under a passphrase.",
        discussion: """
              vault export --to backup.vault
              vault import backup.vault          (on the new machine)

            vault first asks for the passphrase. Then vault opens each account as "vault login" does.

            The file holds no tokens and no unlock methods. After an import, each account needs a new password and one sign-in.

            The file opens without the key service. A thief who has the file can try passphrases without limit. Choose \
            a long passphrase.
            """)

    @Option(
        name: .customLong("user"),
        help: ArgumentHelp(
            "An account: its subject, alias, e-mail address or user name. Can be repeated. (default: all accounts)",
            valueName: "id"), completion: .users)
    var users: [String] = []

    @Option(
        name: .customLong("item"),
        help: ArgumentHelp("An item's name. Can be repeated. (default: all items)", valueName: "name"),
        completion: .items)
    var items: [String] = []

    @Option(help: ArgumentHelp("The file to write. It must not exist yet.", valueName: "file"), completion: .file())
    var to: String

    @OptionGroup var passphrase: PassphraseOptions
    @OptionGroup var unlock: UnlockOptions
    @OptionGroup var global: GlobalOptions

    func validate() throws { try passphrase.check(against: unlock.password) }

    func run() async throws {
        let terminal = try await Asking.terminal()
        let vault = try await unlock.openVault(global)
        let accounts = try vault.accounts
        try accounts.policy.requireBackupsAllowed()
        try BackupWriter.requireWritable(to)
        let chosen = try await chosenAccounts(vault)
        try passphrase.requireSource(terminal)
        for account in chosen {
            await Proposed.note(account, in: vault)
            try await unlock.requireWay(into: account, in: vault, terminal, isQuiet: global.json)
        }
        // Before the accounts, because a person who mistypes the passphrase then need not open them all again.
        let secret = SharedSecret(
            try await passphrase.source.newPassword(
                "Passphrase for the backup", of: .passphrase, names: chosen.flatMap(\.names), policy: accounts.policy,
                terminal))
        var opened: [(account: Account, vaultKey: VaultKey)] = []
        for account in chosen {
            await Proposed.note(account, in: vault)
            let vaultKey = try await unlock.methods(for: account, in: vault, terminal, global).opening { method in
                try await Spinner.during("Opening \(Printable.text(account.displayName))", isQuiet: global.json) {
                    try await accounts.open(account, with: method)
                }
            }
            opened.append((account, vaultKey))
        }
        let (toExport, wanted) = (opened, items.isEmpty ? nil : Set(items.map(ItemName.init(rawValue:))))
        let contents = try await Spinner.during("Writing the backup", isQuiet: global.json) {
            try await accounts.exportBackup(of: toExport, items: wanted, to: to, passphrase: secret)
        }
        report(contents)
    }

    private func chosenAccounts(_ vault: Vault) async throws -> [Account] {
        var chosen: [Account] = []
        for user in users {
            let account = try await UserOption.account(user, in: vault)
            if !chosen.contains(where: { $0.id == account.id }) { chosen.append(account) }
        }
        if users.isEmpty { chosen = try await vault.storage.all() }
        guard !chosen.isEmpty else {
            throw try await VaultError.noAccount(Settings(global))
        }
        return chosen
    }

    private func report(_ contents: BackupContents) {
        if global.json {
            return Output.json(
                Report(
                    file: to,
                    accounts: contents.accounts.map {
                        .init(subject: $0.id.subject, issuer: $0.id.issuer, items: $0.items.map(\.rawValue))
                    }))
        }
        for account in contents.accounts {
            Output.line("\(Printable.text(account.displayName)): \(ItemCount.words(account.items.count))")
        }
        let path = ShellQuoting.quoted(to)
        Output.note("Next, on the new machine: vault import \(path)")
    }

    private struct Report: Encodable {
        struct Account: Encodable {
            let subject: String
            let issuer: String
            let items: [String]
        }

        let file: String
        let accounts: [Account]
    }
}

/// The source of a backup's passphrase.
struct PassphraseOptions: ParsableArguments {
    @Option(
        name: .customLong("passphrase-file"),
        help: ArgumentHelp(
            "Read the backup's passphrase from a file (- for standard input) and do not ask for it.", valueName: "path"),
        completion: .file())
    var file: String?

    var source: SecretSource { file.map(SecretSource.file) ?? .terminal }

    /// Checks that there is a source for the passphrase, before anything else is asked.
    func requireSource(_ terminal: any Terminal) throws {
        guard file == nil, !terminal.isInteractive else { return }
        throw VaultError(
            .configurationInvalid, "There is no terminal to ask for the passphrase. Use --passphrase-file PATH.")
    }

    /// Refuses two secrets from standard input.
    func check(against password: PasswordOptions, and other: String? = nil) throws {
        let files = [file, password.file, other].compactMap(\.self)
        if files.filter({ $0 == "-" }).count > 1 {
            throw ValidationError("Only one secret can come from standard input.")
        }
    }
}

enum ItemCount {
    static func words(_ count: Int) -> String { count == 1 ? "1 item" : "\(count) items" }
}
