internal import ArgumentParser
internal import CredentialVault

extension UnlockCommand {
    struct Add: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "add",
            abstract: "Add a way in: pin, recovery, offline, pkcs11, tpm2 or fido2.",
            discussion: """
                The account is opened first, with the password or another way in. A PIN, a recovery code and the offline \
                way take the place of the one that is there; of hardware there can be several.

                offline: the password alone then opens the account where there is no network. Whoever gets this \
                machine's disk can then try passwords for as long as they like, which the key service prevents otherwise.
                """)

        enum Kind: String, ExpressibleByArgument, CaseIterable, Sendable {
            case pin, recovery, offline, pkcs11, tpm2, fido2
        }

        @Argument(help: "What to add.") var kind: Kind
        @OptionGroup var user: UserOption
        @OptionGroup var unlock: UnlockOptions
        @OptionGroup var global: GlobalOptions

        @Option(
            name: .customLong("new-pin-file"),
            help: ArgumentHelp(
                "Read the new PIN, or the hardware's, from a file (- for standard input).", valueName: "path"),
            completion: .file())
        var newPINFile: String?

        @Option(
            help: ArgumentHelp(
                "Which token, by its PKCS#11 URI (RFC 7512), or which TPM, as tpm2-tss reaches it.",
                valueName: "address"))
        var which: String?

        @Flag(name: .customLong("make-key"), help: "Make a key on a PKCS#11 token that has none to use.")
        var makeKey = false

        @Option(help: ArgumentHelp("What to call the hardware.", valueName: "name"))
        var label: String?

        @Flag(
            name: .customLong("opens-offline"),
            help: "The hardware opens the account without the key service, which then cannot end that.")
        var opensOffline = false

        @Flag(help: "Do not ask whether offline is wanted.")
        var yes = false

        func validate() throws {
            if newPINFile == "-" && unlock.password.file == "-" {
                throw ValidationError("Only one of the two secrets can come from standard input.")
            }
        }

        func run() async throws {
            let terminal = ControllingTerminal()
            let vault = try await global.openVault()
            let account = try await user.account(in: vault)
            let name = Printable.text(account.displayName)
            if kind == .offline && !yes { try await OfflineConsent.ask(terminal) }
            let provider = try hardware()
            let method = try await unlock.reusableMethod(for: account, terminal, password: "Password")
            let accounts = vault.storage.accounts
            let vaultKey = try await Spinner.during("Opening \(name)", isQuiet: global.json) {
                try await accounts.open(account, with: method)
            }
            switch kind {
            case .pin:
                let pin = try await newPIN(account, terminal)
                try await Spinner.during("Adding the PIN", isQuiet: global.json) {
                    _ = try await accounts.addPIN(pin.bytes, to: account, vaultKey: vaultKey)
                }
                report("The PIN opens \(name) from now on. The password still does, too.")
            case .recovery:
                let code = try await NewRecoveryCode(
                    for: account, vaultKey: vaultKey, in: vault, isQuiet: global.json)
                if global.json {
                    try Output.importantJSON(["added": kind.rawValue, "recovery_code": code.text])
                    return try await code.add()
                }
                try await code.showAndAdd()
                Output.note("With it: vault login --recovery-code")
            case .offline:
                let password = try await password(method, name, terminal)
                try await Spinner.during("Adding the way without the network", isQuiet: global.json) {
                    _ = try await accounts.addOffline(password: password, to: account, vaultKey: vaultKey)
                }
                report("The password opens \(name) without the network, too: vault login --offline")
            case .pkcs11, .tpm2, .fido2:
                guard let provider else { return }
                // A TPM gets a PIN of the vault's own. The others have theirs already.
                let prompt = TerminalPrompt(
                    terminal: terminal, source: newPINFile.map(SecretSource.file), isNew: kind == .tpm2)
                if opensOffline && kind == .pkcs11 { try await Hardware.requireRealToken(which) }
                let slot = try await accounts.addHardware(
                    provider, prompt: prompt, to: account, vaultKey: vaultKey, opensOffline: opensOffline, label: label)
                report("\(Printable.text(slot.label ?? kind.rawValue)) opens \(name) from now on.")
            }
        }

        private func hardware() throws -> (any BiometricProvider)? {
            guard Hardware.kinds.contains(kind.rawValue) else { return nil }
            return try Hardware.provider(kind.rawValue, which, mayMakeKey: makeKey)
        }

        /// The password, which was typed already when it opened the account.
        private func password(
            _ method: UnlockMethod, _ name: String, _ terminal: any Terminal
        ) async throws -> SharedSecret {
            if case .password(let password) = method { return password }
            return SharedSecret(try await terminal.askSecret("Password of \(name): "))
        }

        private func newPIN(_ account: Account, _ terminal: any Terminal) async throws -> SharedSecret {
            let names = [account.alias, account.email, account.preferredUsername].compactMap(\.self)
            if let newPINFile {
                let pin = try await SecretSource.file(newPINFile).password("", terminal)
                if let objection = PINRule.objection(to: pin, names: names) {
                    throw VaultError(.passwordUnusable, "\(objection) Choose another one.")
                }
                return SharedSecret(pin)
            }
            for _ in 1...5 {
                let pin = try await terminal.askSecret("New PIN (at least \(PINRule.length.lowerBound) digits): ")
                if let objection = PINRule.objection(to: pin, names: names) {
                    Output.note("\(objection) Choose another one.")
                    continue
                }
                if try await terminal.askSecret("The same again: ").isEqual(to: pin) { return SharedSecret(pin) }
                Output.note("The two are not the same. Once more.")
            }
            throw VaultError(.passwordUnusable, "No PIN was chosen.")
        }

        private func report(_ text: String) {
            if global.json { return Output.json(["added": kind.rawValue]) }
            Output.line(text)
        }
    }
}
