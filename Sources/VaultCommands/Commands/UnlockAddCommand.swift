internal import ArgumentParser
internal import CredentialVault

extension UnlockCommand {
    struct Add: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "add",
            abstract: "Add an unlock method: \(AddedMethod.names.listed("or")).",
            discussion: """
                  vault unlock add pin
                  vault unlock add tpm2 --label laptop

                vault opens the account first, also while the agent holds the account open. Otherwise somebody at your \
                unlocked screen could add an unlock method. vault asks for the password. To use another unlock method, \
                press Enter. If a recovery code opens the account, vault prints a new code.

                A new PIN, recovery code, offline method or desktop keyring replaces the old one. You can add several \
                pieces of hardware.

                desktop: the keyring of your desktop (GNOME Keyring, KWallet) then opens the account without a \
                question, for anybody who is logged in to the desktop, and for each program there. A thief who has \
                this machine's disk can try passwords of the desktop without limit.

                offline: the password then opens the account without the network. A thief who has this machine's disk \
                can then try passwords without limit. Without an offline method, the key service prevents that.

                To an account without a key service, you can add hardware that counts wrong PINs, and offline (a \
                password).

                --which: vault does not store the address with the account, because it may name a library to run. Save \
                the address for the next login:

                  vault config set pkcs11 URI
                  vault config set tpm2 ADDRESS
                """)

        @Argument(help: "What to add: \(AddedMethod.names.listed("or")).") var kind: AddedMethod
        @OptionGroup var user: UserOption
        @OptionGroup var unlock: UnlockOptions
        @OptionGroup var global: GlobalOptions

        @Option(
            name: .customLong("new-pin-file"),
            help: ArgumentHelp(
                "Read the new PIN, or the hardware's PIN, from a file (- for standard input).", valueName: "path"),
            completion: .file())
        var newPINFile: String?

        @Option(
            help: ArgumentHelp(
                "The PKCS#11 URI (RFC 7512) of a token, or the tpm2-tss address of a TPM. (default: the setting pkcs11 or tpm2)",
                valueName: "address"))
        var which: String?

        @Flag(name: .customLong("make-key"), help: "Make a key on a PKCS#11 token that has no usable key.")
        var makeKey = false

        @Option(help: ArgumentHelp("A name for the hardware.", valueName: "name"))
        var label: String?

        @Flag(
            name: .customLong("opens-offline"),
            help: "The hardware opens the account without the key service. The key service then cannot end that.")
        var opensOffline = false

        @Flag(help: "Do not ask before adding desktop, offline, --opens-offline or a software token.")
        var yes = false

        func validate() throws {
            if newPINFile == "-" && unlock.password.file == "-" {
                throw ValidationError("Only one of the two secrets can come from standard input.")
            }
            if let label { try UnlockCommand.requireNoKind(label) }
            let given: [(option: MethodKind.Addition.Option, name: String, isGiven: Bool)] = [
                (.opensOffline, "--opens-offline", opensOffline), (.label, "--label", label != nil),
                (.makeKey, "--make-key", makeKey), (.newPINFile, "--new-pin-file", newPINFile != nil),
                (.which, "--which", which != nil),
            ]
            for (option, name, isGiven) in given where isGiven && !kind.addition.options.contains(option) {
                let methods = AddedMethod.all.filter { $0.addition.options.contains(option) }.map(
                    \.method.kind.rawValue)
                let rename = option == .label ? " For the others: vault unlock rename" : ""
                throw ValidationError("\(name) works only with \(methods.listed("and")).\(rename)")
            }
            // vault prints the address again, to be put into the settings.
            guard which?.contains("pin-value") != true, which?.contains("pin-source") != true else {
                throw ValidationError("Leave the PIN out of --which.")
            }
        }

        func run() async throws {
            let terminal = try await Asking.terminal()
            let vault = try await unlock.openVault(global)
            try vault.storage.policy.requireAllowed(kind.method.kind)
            try unlock.requireSecret()
            let account = try await user.account(in: vault)
            try account.requireKeyService(forNew: kind.method.kind)
            // In a script, nobody types a secret in vain.
            if terminal.isInteractive && kind.method.kind != .offline && !opensOffline {
                try await Spinner.during("Asking the key service", isQuiet: global.json) {
                    try await vault.accounts.requireClaims(of: account, within: UnlockOptions.glance)
                }
            }
            let request = MethodKind.AddRequest(
                method: kind.method, options: self, account: account, vault: vault,
                hardware: Hardware(try await Settings(global)), terminal: terminal)
            let methods = try await unlock.methods(
                for: account, in: vault, terminal, isReusable: false, changesMethods: true, global)
            try await kind.addition.prepare(request)
            let (vaultKey, added) = try await AgentSessions.ending(account.id, ifRevoked: global) {
                let unlocked = try await methods.opening { try await opened(account, with: $0, in: vault) }
                return (unlocked.vaultKey, try await kind.addition.add(request, unlocked))
            }
            // A recovery code that opened the account is used up.
            var renewed: Result<NewRecoveryCode, VaultError>?
            if unlock.usesRecoveryCode && added.code == nil {
                renewed = await NewRecoveryCode.made(
                    for: account, vaultKey: vaultKey, in: vault, isQuiet: global.json)
            }
            let renewedCode = try? renewed?.get()
            let code = added.code ?? renewedCode
            if global.json {
                try Output.importantJSON(Report(added: kind.method.kind.rawValue, recoveryCode: code?.text))
                try await code?.add()
                _ = try renewed?.get()
                return
            }
            if let text = added.text { Output.line(text) }
            try await code?.showAndAdd()
            _ = try renewed?.get()
            for line in added.hint?.split(separator: "\n") ?? [] { Output.note(String(line)) }
        }

        /// Opens the account, also if the agent holds it open: a new unlock method needs a secret.
        private func opened(
            _ account: Account, with method: UnlockMethod, in vault: Vault
        ) async throws -> MethodKind.OpenedForAdding {
            let name = Printable.text(account.displayName)
            let accounts = try vault.accounts
            let vaultKey = try await Spinner.during("Opening \(name)", isQuiet: global.json) {
                let vaultKey = try await accounts.open(account, with: method)
                try await vault.renewTokenForList(of: account.id, vaultKey)
                return vaultKey
            }
            return MethodKind.OpenedForAdding(
                password: method.kind == .password ? method.typedSecret : nil, vaultKey: vaultKey, accounts: accounts)
        }

        private struct Report: Encodable {
            let added: String
            /// The new recovery code, not shown before.
            let recoveryCode: String?
        }
    }
}
