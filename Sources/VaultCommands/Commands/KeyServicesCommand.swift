internal import ArgumentParser
internal import CredentialVault

struct KeyServicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key-services", abstract: "Move an account to a key service.", subcommands: [Move.self])

    struct Move: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "set",
            abstract: "Give a key service to an account that has none. The secret stays the same.",
            discussion: """
                  vault key-services set https://keys.example.com
                  vault key-services set https://keys.example.com --tpm2

                From then on, the key service counts wrong guesses, and the owner can revoke this machine. vault asks for \
                the password, or the PIN of the hardware, once. The account also gets a new vault key, and its refresh \
                token is renewed. The unlock method that you use stays. All other unlock methods end, and you can add \
                them again. Sessions in the agent and in other programs lock.

                An old copy of the disk still opens with the secret of that time. If somebody may have such a copy, \
                change the password afterwards. Also change each secret that you stored as an item, at the service \
                that uses it.

                If the move is interrupted, the account is as before, or has moved, and nothing is lost.
                """)

        @Argument(help: ArgumentHelp("The base URL of the key service.", valueName: "url"))
        var url: String
        @OptionGroup var user: UserOption
        @OptionGroup var unlock: UnlockOptions
        @OptionGroup var global: GlobalOptions

        @Flag(help: "Do not ask before the other unlock methods end.")
        var yes = false

        func validate() throws {
            if global.keyService != nil {
                throw ValidationError("The URL of the key service is given twice. Leave out --key-service.")
            }
        }

        func run() async throws {
            try Settings.Name.keyService.validate(url)
            let terminal = try await Asking.terminal()
            let vault = try await unlock.openVault(global) {
                ($0.keyServiceURL, $0.registersWithoutKeyService) = (url, false)
            }
            try unlock.requireSecret()
            let account = try await user.account(in: vault)
            let name = Printable.text(account.displayName)
            guard !account.hasKeyService else {
                let isSame = ServiceChecks.address(account.keyServiceURL) == ServiceChecks.address(url)
                let user = await vault.storage.userOption(of: account.id)
                let way =
                    isSame
                    ? "" : " This command moves only accounts without one. \(account.changingKeyService(to: url, user))"
                throw VaultError(
                    .configurationInvalid,
                    "\(name) has a key service already: \(Printable.text(account.keyServiceURL)).\(way)")
            }
            // Before the person types a secret.
            try await Spinner.during("Asking the key service", isQuiet: global.json) {
                try await vault.storage.checkReady()
            }
            let kind = try unlock.kind(for: account, isReusable: true)
            if !yes {
                try await NewVaultKey.requireConsent(
                    toKeep: kind, of: account, to: "move the account", "Move \(name) to the key service?", terminal,
                    global)
            }
            let (session, replacement) = try await unlock.asking(for: kind, of: account, in: vault, terminal) {
                method -> (session: Session?, replacement: VaultKeyReplacement) in
                try await Spinner.during("Moving to the key service", isQuiet: global.json) {
                    try await vault.ownAuth.moveToKeyService(account, with: method)
                }
            }
            let new = try await NewVaultKey(replacement, of: account.id, session, global)
            if global.json {
                return try Output.importantJSON(
                    Report(keyService: url, kept: kind.rawValue, ended: new.ended, key: new.report))
            }
            Output.line("\(name) has the key service \(Printable.text(url)) now.")
            new.tell(keeping: kind)
            if try await Settings()[.keyService] == nil {
                Output.note("To use it for new accounts, too: vault config set key-service \(ShellQuoting.quoted(url))")
            }
        }

        private struct Report: Encodable {
            let keyService: String
            let kept: String
            let ended: [String]
            let key: NewVaultKey.Report
        }
    }
}
