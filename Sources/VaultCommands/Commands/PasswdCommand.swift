internal import ArgumentParser
internal import CredentialVault

struct PasswdCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "passwd",
        abstract: "Change an account's password.",
        discussion: """
            Tokens and items stay. Whatever happens meanwhile, exactly one of the two passwords works afterwards. \
            With --password-file the old password comes from there, and the new one from --new-password-file.
            """)

    @OptionGroup var user: UserOption
    @OptionGroup var password: PasswordOptions
    @OptionGroup var global: GlobalOptions

    @Option(
        name: .customLong("new-password-file"),
        help: ArgumentHelp("Read the new password from a file (- for standard input).", valueName: "path"),
        completion: .file())
    var newFile: String?

    func validate() throws {
        if newFile == "-" && password.file == "-" {
            throw ValidationError("Only one of the two passwords can come from standard input.")
        }
    }

    func run() async throws {
        let terminal = ControllingTerminal()
        let vault = try await global.openVault()
        let account = try await user.account(in: vault)
        let name = Printable.text(account.displayName)
        let newSource = newFile.map(SecretSource.file) ?? .terminal
        if case .terminal = newSource, password.isGiven, !terminal.isInteractive {
            throw VaultError(
                .configurationInvalid, "There is no terminal to ask for the new password. Use --new-password-file PATH."
            )
        }
        let old = try await password.source.password("Present password of \(name): ", terminal)
        // Nobody should think up a new password only to hear that the old one was wrong.
        _ = try await Spinner.during("Checking the password", isQuiet: global.json) {
            do {
                return try await vault.storage.accounts.open(account, with: .password(old))
            } catch {
                throw VaultError.converting(error)
            }
        }
        let new = try await newSource.newPassword(
            "New password", names: [account.alias, account.email, account.preferredUsername].compactMap(\.self),
            terminal)
        try await Spinner.during("Changing the password", isQuiet: global.json) {
            do {
                try await vault.storage.accounts.changePassword(of: account, from: old, to: new)
            } catch {
                throw VaultError.converting(error)
            }
        }
        if global.json { return Output.json(["changed": true]) }
        Output.line("The password of \(name) was changed.")
    }
}
