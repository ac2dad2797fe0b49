internal import ArgumentParser
internal import CredentialVault

struct ImportCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import accounts and items from a file that \"vault export\" wrote.",
        discussion: """
            If an account is not on this machine yet, vault creates it with its items. vault asks for a new password. \
            Tokens and unlock methods stay on the old machine. After the import, sign in once with the command that vault \
            prints.

            If an account is on this machine already, vault opens it as "vault login" does, and imports only its items.

            An account keeps its key service. If it had none, it gets the key service of the settings, or of \
            --key-service. To go on without one: --no-key-service.

            vault checks the whole file first. A damaged file changes nothing.
            """)

    @Argument(help: "The file.", completion: .file())
    var file: String

    @Option(
        name: .customLong("user"),
        help: ArgumentHelp(
            "An account in the file: its subject, alias, e-mail address or user name. Can be repeated. (default: all accounts)",
            valueName: "id"))
    var users: [String] = []

    @Flag(
        help: ArgumentHelp(
            "Replace, or keep, the items that an account on this machine already has. (default: ask)"))
    var present: PresentItems?

    @Option(
        name: .customLong("new-password-file"),
        help: ArgumentHelp(
            "Read the password for new accounts from a file (- for standard input).",
            valueName: "path"),
        completion: .file())
    var newPasswordFile: String?

    @Flag(
        name: .customLong("no-key-service"),
        help: """
            An account that had no key service has none here, too. A thief who has the disk can try its password \
            without limit.
            """)
    var noKeyService = false

    @OptionGroup var passphrase: PassphraseOptions
    @OptionGroup var unlock: UnlockOptions
    @OptionGroup var global: GlobalOptions

    enum PresentItems: String, EnumerableFlag {
        case replace, keep
    }

    func validate() throws {
        try passphrase.check(against: unlock.password, and: newPasswordFile)
        if noKeyService && global.keyService != nil {
            throw ValidationError("--no-key-service and --key-service exclude each other.")
        }
    }

    func run() async throws {
        let terminal = try await Asking.terminal()
        let vault = try await unlock.openVault(global) { if noKeyService { $0.useNoKeyService() } }
        try await vault.storage.checkBackup(at: file)
        try passphrase.requireSource(terminal)
        let newPassword = try await (newPasswordFile.map(SecretSource.file) ?? .terminal).readAhead()
        let secret = SharedSecret(
            try await passphrase.source.password("Passphrase of the backup: ", terminal, called: "passphrase"))
        let backup = try await Spinner.during("Checking the backup", isQuiet: global.json) {
            try await vault.storage.openBackup(at: file, passphrase: secret.bytes)
        }
        var reports: [ImportReport] = []
        let accounts = try await chosen(backup.contents.accounts, in: vault)
        for stored in accounts {
            let report: ImportReport
            if let account = try await vault.storage.registeredAccount(stored.id) {
                report = try await addItems(of: stored, in: backup, to: account, vault, terminal)
            } else {
                report = try await make(stored, of: backup, newPassword, isOnly: accounts.count == 1, vault, terminal)
            }
            reports.append(report)
            if !global.json { report.show() }
        }
        if global.json { return Output.json(["accounts": reports]) }
        let issuers = zip(accounts, reports).filter { $0.signsInInBrowser && $1.next != nil }.map(\.0.id.issuer)
        if Set(issuers).count < issuers.count {
            Output.note("If the browser is still signed in as somebody else, add --private-browser to the command.")
        }
    }

    private func chosen(
        _ stored: [BackupContents.Account], in vault: Vault
    ) async throws -> [BackupContents.Account] {
        var ids: Set<AccountID> = []
        for user in users {
            var named = stored.filter { $0.isNamed(user) }
            // The account may have another name here.
            if named.isEmpty, let account = try? await UserOption.account(user, in: vault) {
                named = stored.filter { $0.id == account.id }
            }
            guard !named.isEmpty else {
                let names = stored.map { Printable.text($0.displayName) }.joined(separator: ", ")
                throw VaultError(
                    .accountNotFound, "The backup has no account \(Printable.text(user)). It has: \(names)")
            }
            ids.formUnion(named.map(\.id))
        }
        return users.isEmpty ? stored : stored.filter { ids.contains($0.id) }
    }

    private func make(
        _ stored: BackupContents.Account, of backup: Backup, _ source: SecretSource, isOnly: Bool,
        _ vault: Vault, _ terminal: any Terminal
    ) async throws -> ImportReport {
        try vault.storage.policy.requireAllowed(.password)
        if stored.keyServiceURL.isEmpty { try await requireChoice(for: stored) }
        let password = SharedSecret(
            try await source.newPassword(
                "New password for \(Printable.text(stored.displayName))", names: stored.names,
                policy: vault.storage.policy,
                terminal))
        let result = try await Spinner.during(
            "Importing \(Printable.text(stored.displayName))", isQuiet: global.json
        ) {
            try await vault.storage.importBackup(backup, account: stored.id, newPassword: password.bytes)
        }
        let made = try await vault.storage.account(stored.id)
        // The other accounts of the backup may not be here yet.
        let userOption = await vault.storage.userOption(of: made.id)
        await Proposed.note(made, in: vault, userOption: isOnly ? nil : " \(userOption)")
        return ImportReport(stored, result, isNew: true, keyServiceURL: made.keyServiceURL)
    }

    /// Refuses an account that had no key service, unless the settings or the person say what it gets here.
    private func requireChoice(for stored: BackupContents.Account) async throws {
        guard !noKeyService, try await Settings(global)[.keyService] == nil else { return }
        throw VaultError(
            .configurationInvalid,
            "\(Printable.text(stored.displayName)) had no key service. To give it one, add --key-service URL. To go on without one, add --no-key-service."
        )
    }

    private func addItems(
        of stored: BackupContents.Account, in backup: Backup, to account: Account, _ vault: Vault,
        _ terminal: any Terminal
    ) async throws -> ImportReport {
        let methods = try await unlock.methods(for: account, in: vault, terminal, global)
        let present = Set(try await vault.storage.itemNames(of: account.id))
        let isReplacing = try await mayReplace(stored.items.filter(present.contains), of: account, terminal)
        let result = try await methods.opening { method in
            try await Spinner.during(
                "Importing items of \(Printable.text(account.displayName))", isQuiet: global.json
            ) {
                try await vault.storage.importBackup(
                    backup, into: account.id, with: method, replacingItems: isReplacing)
            }
        }
        return ImportReport(stored, result, isNew: false)
    }

    /// Whether the backup's items replace the items that are here.
    private func mayReplace(_ items: [ItemName], of account: Account, _ terminal: any Terminal) async throws -> Bool {
        if let present { return present == .replace }
        guard !items.isEmpty else { return false }
        let names = items.map { Printable.text($0.rawValue) }.joined(separator: ", ")
        let account = Printable.text(account.displayName)
        guard terminal.isInteractive else {
            throw VaultError(
                .accountExists,
                "\(account) is here already, with these items: \(names). To replace them, add --replace. To keep them, add --keep."
            )
        }
        Output.note("\(account) is here already, with these items: \(names).")
        return try await terminal.confirm("Replace them with the items of the backup?")
    }
}

/// The result for one account.
struct ImportReport: Encodable {
    let subject: String
    let issuer: String
    /// Whether the import created the account.
    let new: Bool
    let items: [String]
    let keptItems: [String]
    /// The unlock methods that stay on the old machine.
    let methodsLeftBehind: [String]
    let aliasWasTaken: Bool
    /// The command that signs in; nil for an account that was here before.
    let next: String?
    private let name: String

    private enum CodingKeys: String, CodingKey {
        case subject, issuer, new, items, keptItems, methodsLeftBehind, aliasWasTaken, next
    }

    /// - Parameter keyServiceURL: the key service of a new account; empty for none.
    init(_ stored: BackupContents.Account, _ result: BackupImport, isNew: Bool, keyServiceURL: String = "") {
        (subject, issuer, new) = (stored.id.subject, stored.id.issuer, isNew)
        (items, keptItems) = (result.items.map(\.rawValue), result.keptItems.map(\.rawValue))
        var methods: [String] = []
        for method in stored.unlockMethods where isNew && !methods.contains(method.rawValue) {
            methods.append(method.rawValue)
        }
        methodsLeftBehind = methods
        aliasWasTaken = result.aliasWasTaken
        next =
            isNew
            ? stored.id.registerCommand(stored.method, clientID: stored.clientID, keyServiceURL: keyServiceURL) : nil
        name = stored.displayName
    }

    func show() {
        let name = Printable.text(name)
        Output.line("\(name): imported \(ItemCount.words(items.count)).")
        if !keptItems.isEmpty {
            Output.line("\(name): not changed: \(keptItems.map(Printable.text).joined(separator: ", "))")
        }
        guard let next else { return }
        if aliasWasTaken { Output.note("Another account here has the name \(name). The new account has no alias.") }
        let others = methodsLeftBehind.filter { $0 != Keyslot.Kind.password.rawValue }
        if !others.isEmpty {
            let commands = others.compactMap { Keyslot.Kind(rawValue: $0).adding.map(Proposed.command) }
            let advice = commands.isEmpty ? "" : " To add new ones here: \(commands.joined(separator: "; "))"
            Output.note(
                "These unlock methods stay on the old machine: \(others.map(Printable.text).joined(separator: ", ")).\(advice)"
            )
        }
        Output.note("To sign in to \(name), with the new password: \(next)")
    }
}

extension BackupContents.Account {
    fileprivate var signsInInBrowser: Bool { [.openIDConnect, .backend, .serverOAuth].contains(method) }

    fileprivate func isNamed(_ name: String) -> Bool {
        [id.subject, alias, email, preferredUsername].contains(name)
    }
}
