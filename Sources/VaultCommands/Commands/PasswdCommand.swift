internal import ArgumentParser
internal import CredentialVault

struct PasswdCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "passwd",
        abstract: "Change an account's password.",
        discussion: """
            Tokens, items and the other unlock methods stay. If the change is interrupted, exactly one of the two passwords \
            works. --password-file has the old password, and --new-password-file the new one.

            Somebody who opened a copy of the store once has the vault key, which opens every later copy, too. With \
            --drop-other-methods the account also gets a new vault key, as with "vault rekey".

            If you forgot the password, use another unlock method:

              vault passwd --pin
              vault passwd --recovery-code
            """)

    @OptionGroup var user: UserOption
    @OptionGroup var unlock: UnlockOptions
    @OptionGroup var global: GlobalOptions

    @Option(
        name: .customLong("new-password-file"),
        help: ArgumentHelp("Read the new password from a file (- for standard input).", valueName: "path"),
        completion: .file())
    var newFile: String?

    @Flag(
        name: .customLong("drop-other-methods"),
        help: "Also replace the vault key, and remove all other unlock methods: the PIN, the recovery code, hardware.")
    var dropsOtherMethods = false

    func validate() throws {
        if newFile == "-" && unlock.password.file == "-" {
            throw ValidationError("Only one of the two passwords can come from standard input.")
        }
    }

    func run() async throws {
        let terminal = try await Asking.terminal()
        let vault = try await unlock.openVault(global)
        try unlock.requireSecret()
        try vault.storage.policy.requireAllowed(.password)
        let account = try await user.account(in: vault)
        try vault.accounts.requireMaySetPassword(of: account, dropsOtherMethods: dropsOtherMethods)
        let name = Printable.text(account.displayName)
        // An unreadable file is reported before a person types the old password.
        let newSource = try await (newFile.map(SecretSource.file) ?? .terminal).readAhead()
        if case .terminal = newSource, unlock.password.isGiven, !terminal.isInteractive {
            throw VaultError(
                .configurationInvalid, "There is no terminal to ask for the new password. Use --new-password-file PATH."
            )
        }
        let methods = try await unlock.methods(
            for: account, in: vault, terminal, isReusable: false, changesMethods: true, global)
        // The old password is checked before the person thinks of a new one.
        let vaultKey = try await AgentSessions.ending(account.id, ifRevoked: global) {
            try await methods.opening(password: "Current password") { method in
                try await Spinner.during("Checking the \(method.kind.displayName)", isQuiet: global.json) {
                    let vaultKey = try await vault.accounts.open(account, with: method)
                    try await vault.renewTokenForList(of: account.id, vaultKey)
                    return vaultKey
                }
            }
        }
        let new = try await newSource.newPassword(
            "New password", names: account.names, policy: vault.storage.policy, terminal)
        if dropsOtherMethods { return try await replaceVaultKey(vaultKey, with: new, account, vault) }
        _ = try await Spinner.during("Changing the password", isQuiet: global.json) {
            do {
                return try await vault.accounts.setPassword(new, of: account, vaultKey: vaultKey)
            } catch {
                throw VaultError.converting(error)
            }
        }
        let kept = (try? await vault.storage.keyslotSummaries(of: account.id))?.filter { $0.kind != .password } ?? []
        var code: Result<NewRecoveryCode, VaultError>?
        if unlock.usesRecoveryCode {
            code = await NewRecoveryCode.made(
                for: account, vaultKey: vaultKey, in: vault, isQuiet: global.json)
        }
        let newCode = try? code?.get()
        if global.json {
            try Output.importantJSON(
                Report(
                    changed: true, dropped: [], kept: kept.map(\.kind.rawValue), recoveryCode: newCode?.text, key: nil))
            try await newCode?.add()
            _ = try code?.get()
            return
        }
        Output.line("The password of \(name) was changed.")
        let working = kept.filter { $0.state == .usable }
        if !working.isEmpty { Output.line("These still open the account: \(Self.names(working)).") }
        for slot in kept where slot.state != .usable {
            guard let reason = slot.stateInWords else { continue }
            Output.line("This does not open it: \(Self.names([slot])), \(reason).")
        }
        try await newCode?.showAndAdd()
        _ = try code?.get()
    }

    /// Changes the password and replaces the vault key in one step. All other unlock methods end.
    private func replaceVaultKey(
        _ old: VaultKey, with password: borrowing SecretBytes, _ account: Account, _ vault: Vault
    ) async throws {
        let password = SharedSecret(try password.copy())
        let session = try await vault.ownAuth.adopt(
            account.id, vaultKey: old, contact: .confirmed, hasSecret: true)
        let replacement = try await Spinner.during("Replacing the vault key", isQuiet: global.json) {
            try await session.setPassword(password.bytes, dropsOtherMethods: true)
        }
        guard let replacement else { return }
        await Hardware(try await Settings(global)).forgetEnded(of: account, in: vault)
        let key = try await NewVaultKey(replacement, of: account.id, session, global)
        if global.json {
            return try Output.importantJSON(
                Report(changed: true, dropped: key.ended, kept: [], recoveryCode: nil, key: key.report))
        }
        Output.line("The password of \(Printable.text(account.displayName)) was changed, and the vault key replaced.")
        key.tell()
    }

    private static func names(_ slots: [KeyslotSummary]) -> String {
        slots.map { Printable.text($0.name) }.joined(separator: ", ")
    }

    private struct Report: Encodable {
        let changed: Bool
        let dropped: [String]
        let kept: [String]
        let recoveryCode: String?
        /// The new vault key; nil without --drop-other-methods.
        let key: NewVaultKey.Report?
    }
}
