internal import ArgumentParser
internal import CredentialVault
internal import Logging
internal import VaultBase

/// The options that every command has.
struct GlobalOptions: ParsableArguments {
    @Flag(help: "Print the result, or the error, as JSON.")
    var json = false

    @Flag(
        name: .shortAndLong,
        help: "Log to standard error: calls to servers, use of tokens, locks. No secrets.")
    var verbose = false

    @Option(
        help: ArgumentHelp(
            "The issuer URL of the provider, or the base URL of a backend. Commands other than register use only this issuer's accounts.",
            valueName: "url"))
    var issuer: String?

    @Option(
        name: .customLong("client-id"), help: ArgumentHelp("The client id at the identity provider.", valueName: "id"))
    var clientID: String?

    @Option(
        name: .customLong("key-service"),
        help: ArgumentHelp("The base URL of the key service, for register.", valueName: "url"))
    var keyService: String?

    @Option(
        name: .customLong("ca-file"),
        help: ArgumentHelp(
            "A PEM file of certificate authorities to trust, besides those of the system.", valueName: "path"),
        completion: .file())
    var caFile: String?

    /// The open vault, kept until the process ends.
    private static let open = Lock<Vault?>(nil)

    /// The vault that this process opened last; nil if it opened none.
    static var opened: Vault? { open.withLock { $0 } }

    /// Opens the vault with the accounts of every issuer, or of `--issuer`. The issuer of the settings does not matter.
    func openVault() async throws -> Vault { try await Self.openVault(self) }

    /// Does the same as `openVault()`. If no option is given, `options` is nil, because the parser would take longer
    /// than the rest of the command.
    static func openVault(_ options: GlobalOptions?) async throws -> Vault {
        try await openVault(options, changed: { $0.issuer = options?.issuer }, { try await Vault($0) })
    }

    /// Opens the vault with the settings that are in force, changed by `change`.
    func openVault(_ change: (inout VaultConfiguration) -> Void) async throws -> Vault {
        try await Self.openVault(self, changed: change, { try await Vault($0) })
    }

    /// Opens the vault for a command that closes something. If the policy cannot be read, the vault opens no account.
    ///
    /// - Returns: also the error of the policy; nil if it could be read, or if there is none.
    func openVaultToClose() async throws -> (vault: Vault, problem: VaultError?) {
        let policy: VaultPolicy?
        var problem: VaultError?
        do {
            policy = try VaultPolicy.ofMachine()
        } catch {
            guard let error = error as? VaultError else { throw error }
            (policy, problem) = (.nothing, error)
        }
        let vault = try await Self.openVault(
            self, changed: { $0.issuer = issuer }, toClose: true, { try await Vault($0, machinePolicy: policy) })
        return (vault, problem)
    }

    /// - Parameters:
    ///   - open: opens the vault, under the machine's policy.
    private static func openVault(
        _ options: GlobalOptions?, changed change: (inout VaultConfiguration) -> Void, toClose: Bool = false,
        _ open: (VaultConfiguration) async throws -> Vault
    ) async throws -> Vault {
        var configuration = try await Settings(options, toClose: toClose).configuration()
        change(&configuration)
        if options?.verbose == true { configuration.logger = Logger(label: "vault") { _ in VerboseLog() } }
        let vault = try await open(configuration)
        Interruption.wait(for: vault.auth.stopGuard)
        Notices.listen(to: try vault.accounts, isJSON: options?.json ?? false)
        Confirmations.remember(try vault.accounts)
        // Closing the store would clean up its log, with two more disk writes each time. The log is as durable as the
        // database. SQLite cleans it up when it has grown.
        Self.open.withLock { $0 = vault }
        return vault
    }
}

/// `--user`, for the commands that work on one account.
struct UserOption: ParsableArguments {
    @Option(
        name: .customLong("user"),
        help: ArgumentHelp(
            "The account: its subject, alias, e-mail address or user name. (default: the setting user, or the only account)",
            valueName: "id"), completion: .users)
    var id: String?

    private static func advice(_ accounts: [AccountID]) -> String {
        Set(accounts.map(\.subject)).count == accounts.count
            ? "Use the subject, or add --issuer URL." : "Add --issuer URL."
    }

    /// The account that the command works on: the named one, the one of the setting, or the only one.
    ///
    /// - Parameters:
    ///   - countsOpen: whether the only account that the agent holds open decides if there are several. True only for a
    ///     command that shows or closes something, and that a person reads: for a script, or for what changes or opens
    ///     an account, another account than the open one may be meant.
    ///   - open: the accounts that the agent holds open; nil to ask the agent if that decides.
    ///   - advice: what the person can type if no account is named, with the option that names one; nil for the usual
    ///     advice.
    func account(
        in vault: Vault, countsOpen: Bool = false, open: [AccountID]? = nil, advice: ((String) -> String)? = nil
    ) async throws -> Account {
        let account = try await chosen(in: vault, countsOpen: countsOpen, open: open, advice: advice)
        // The accounts are counted only if they were read for the choice: with many, that takes long.
        var option: String?
        if id != nil {
            option = " \(await vault.storage.userOption(of: account.id))"
        } else if try await Settings(toClose: countsOpen)[.user] != nil {
            option = ""
        }
        await Proposed.note(account, in: vault, userOption: option)
        return account
    }

    private func chosen(
        in vault: Vault, countsOpen: Bool, open: [AccountID]?, advice: ((String) -> String)?
    ) async throws -> Account {
        if let id { return try await Self.account(id, in: vault) }
        let settings = try await Settings(toClose: countsOpen)
        if let name = settings[.user] { return try await Self.account(ofSetting: name, settings, in: vault) }
        let all = try await vault.storage.all()
        if let only = all.first, all.count == 1 { return only }
        guard !all.isEmpty else {
            throw VaultError.noAccount(settings)
        }
        if countsOpen {
            var ids = open
            if ids == nil { ids = try await AgentSessions(settings).openAccounts() }
            let held = all.filter { ids?.contains($0.id) == true }
            if let only = held.first, held.count == 1 { return only }
        }
        throw await VaultError.notNamed(all, in: vault.storage, advice: advice)
    }

    /// The account that the setting `user` names.
    private static func account(ofSetting name: String, _ settings: Settings, in vault: Vault) async throws -> Account {
        do {
            return try await account(name, in: vault)
        } catch let error as VaultError where [.accountNotFound, .accountAmbiguous].contains(error.code) {
            let source =
                switch settings.origin(of: .user) {
                case .environment:
                    "\(Settings.Name.user.variable) in the environment. To remove it: unset \(Settings.Name.user.variable)"
                case .machine: "\(Settings.machineFile). To use another one: vault config set user NAME"
                default:
                    "the setting user. To change it: vault config set user NAME. To remove it: vault config unset user"
                }
            throw error.saying("\(error.sentences) The name comes from \(source)")
        }
    }

    /// The account that a person means by a subject, alias, e-mail address or user name.
    static func account(_ id: String, in vault: Vault) async throws -> Account {
        do {
            return try await vault.storage.account(userID: id)
        } catch let error as VaultError where error.code == .accountAmbiguous {
            // If several accounts match, the account of the configured issuer is meant.
            let issuer = try await Settings()[.issuer]
            let mine = error.accounts.filter { $0.issuer == issuer }
            if let only = mine.first, mine.count == 1, let account = try await vault.storage.registeredAccount(only) {
                return account
            }
            throw VaultError(
                error.code, error.description + "\n\(advice(error.accounts))", accounts: error.accounts)
        }
    }
}

/// The log of `--verbose`: writes each log line of the library to standard error.
private struct VerboseLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.debug

    subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        Spinner.stopAll()
        let more = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }.map { " \($0)=\($1)" }
        Output.note(Printable.text("vault: \(event.level): \(event.message)\(more.joined())"))
    }
}
