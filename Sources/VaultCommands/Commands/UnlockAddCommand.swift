internal import ArgumentParser
internal import CredentialVault

extension UnlockCommand {
    struct Add: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "add",
            abstract: "Add a way in: pin, recovery, offline, pkcs11, tpm2 or fido2.",
            discussion: """
                The account is opened first, with the password or another way in. A PIN, a recovery code and the offline \
                way take the place of the one that is there; of hardware there can be several. A recovery code that opens \
                the account for this is replaced by a new one.

                offline: the password alone then opens the account where there is no network. Whoever gets this \
                machine's disk can then try passwords for as long as they like, which the key service prevents otherwise.

                Hardware that is reached by another address than usual (--which) is found at every login when that is \
                made the usual one: vault config set pkcs11 URI, or tpm2 ADDRESS. It is not remembered with the \
                account, as it may name a library to be run.
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
                "Which token, by its PKCS#11 URI (RFC 7512), or which TPM, as tpm2-tss reaches it. Otherwise that of the settings.",
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

        @Flag(help: "Do not ask whether offline, --opens-offline, or a token made of software is wanted.")
        var yes = false

        func validate() throws {
            if newPINFile == "-" && unlock.password.file == "-" {
                throw ValidationError("Only one of the two secrets can come from standard input.")
            }
            guard !opensOffline || isHardware else { throw ValidationError("--opens-offline goes with hardware.") }
            guard label == nil || isHardware else {
                throw ValidationError("--label goes with hardware. For the others: vault unlock rename")
            }
            if let label { try UnlockCommand.requireNoKind(label) }
            guard !makeKey || kind == .pkcs11 else { throw ValidationError("--make-key goes with pkcs11.") }
            guard newPINFile == nil || isHardware || kind == .pin else {
                throw ValidationError("--new-pin-file goes with a PIN and with hardware.")
            }
            guard which == nil || kind == .pkcs11 || kind == .tpm2 else {
                throw ValidationError("--which goes with pkcs11 and tpm2.")
            }
            // It is repeated as what to put into the settings.
            guard which?.contains("pin-value") != true, which?.contains("pin-source") != true else {
                throw ValidationError("A PIN does not belong into --which: leave it out.")
            }
        }

        private var isHardware: Bool { Hardware.kinds.contains(kind.rawValue) }

        func run() async throws {
            let terminal = ControllingTerminal()
            let vault = try await unlock.openVault(global)
            let policy = vault.accounts.policy
            try vault.accounts.requireAllowed(Keyslot.Kind(rawValue: kind.rawValue))
            if opensOffline { try vault.accounts.requireAllowed(.offline) }
            let account = try await user.account(in: vault)
            let name = Printable.text(account.displayName)
            let hardware = Hardware(try await Settings(global))
            let provider = isHardware ? try hardware.provider(kind.rawValue, at: which, mayMakeKey: makeKey) : nil
            if let provider { try await checkGuessLimit(of: provider, terminal) }
            if !yes && (kind == .offline || opensOffline) {
                try await OfflineConsent.ask(
                    terminal, mayAsk: !unlock.password.isGiven,
                    for: isHardware ? Keyslot.Kind(rawValue: kind.rawValue) : nil)
            }
            let method = try await unlock.method(for: account, terminal)
            let accounts = vault.accounts
            let vaultKey = try await Spinner.during("Opening \(name)", isQuiet: global.json) {
                try await accounts.open(account, with: method)
            }
            var result: String?
            var addedHardware: Keyslot?
            switch kind {
            case .pin:
                let pin = try await newPIN(account, policy, terminal)
                try await Spinner.during("Adding the PIN", isQuiet: global.json) {
                    _ = try await accounts.addPIN(pin.bytes, to: account, vaultKey: vaultKey)
                }
                result =
                    "The PIN opens \(name) from now on."
                    + (account.passwordKeyslot == nil ? "" : " The password still does, too.")
            case .recovery: break
            case .offline:
                let password = try await password(method, name, terminal)
                try await Spinner.during("Adding the way without the network", isQuiet: global.json) {
                    _ = try await accounts.addOffline(password: password, to: account, vaultKey: vaultKey)
                }
                result = "The password opens \(name) without the network, too: vault login --offline"
            case .pkcs11, .tpm2, .fido2:
                guard let provider else { return }
                // A TPM gets a PIN of the vault's own. The others have theirs already.
                let prompt = TerminalPrompt(
                    terminal: terminal, source: newPINFile.map(SecretSource.file),
                    isNew: Keyslot.Kind(rawValue: kind.rawValue).takesNewPIN, policy: policy)
                let slot = try await accounts.addHardware(
                    provider, prompt: prompt, to: account, vaultKey: vaultKey, opensOffline: opensOffline, label: label)
                result = "\(Printable.text(slot.label ?? kind.rawValue)) opens \(name) from now on."
                addedHardware = slot
            }
            // One that opened the account is used up.
            let needsCode = kind == .recovery || unlock.recoveryCode
            let made =
                needsCode
                ? await NewRecoveryCode.made(for: account, vaultKey: vaultKey, in: vault, isQuiet: global.json) : nil
            let code = kind == .recovery ? try made?.get() : try? made?.get()
            if global.json {
                try Output.importantJSON(Report(added: kind.rawValue, recoveryCode: code?.text))
                try await code?.add()
                _ = try made?.get()
                return
            }
            if let result { Output.line(result) }
            try await code?.showAndAdd()
            _ = try made?.get()
            if kind == .recovery {
                Output.note("With it, when the password is forgotten: vault passwd --recovery-code")
            }
            if let addedHardware { await tellUsualAddress(of: addedHardware, hardware) }
        }

        /// Says what the PIN is worth where whoever has the hardware can guess it without end, and asks where it never
        /// limits that.
        private func checkGuessLimit(of provider: any BiometricProvider, _ terminal: any Terminal) async throws {
            switch try await provider.guessLimit() {
            case .firm: break
            case .weak(let reason) where opensOffline, .absent(let reason) where opensOffline:
                throw VaultError(
                    .configurationInvalid, "\(reason) It cannot open the account without the key service.")
            case .weak(let reason): Output.note("vault: \(Printable.text(reason))")
            case .absent(let reason):
                let cost = "vault: \(Printable.text(reason))"
                if yes {
                    Output.note(cost)
                } else {
                    try await Consent.ask(
                        terminal, mayAsk: !unlock.password.isGiven, cost: cost, "Add it all the same?")
                }
            }
        }

        /// Says how hardware is found that is not where it is looked for.
        private func tellUsualAddress(of slot: Keyslot, _ hardware: Hardware) async {
            guard let which,
                await hardware.availability(of: [slot], within: Hardware.glance)[slot.id] != .available
            else { return }
            let address = ShellQuoting.quoted(which)
            Output.note("It is found there with --\(kind.rawValue) \(address), or always after:")
            Output.note("vault config set \(kind.rawValue) \(address)")
        }

        private struct Report: Encodable {
            let added: String
            /// Made by this, and shown to nobody before.
            let recoveryCode: String?
        }

        /// The password, which was typed already when it opened the account.
        private func password(
            _ method: UnlockMethod, _ name: String, _ terminal: any Terminal
        ) async throws -> SharedSecret {
            if method.kind == .password, let password = method.typedSecret { return password }
            return SharedSecret(try await terminal.askSecret("Password of \(name): "))
        }

        private func newPIN(
            _ account: Account, _ policy: VaultPolicy, _ terminal: any Terminal
        ) async throws -> SharedSecret {
            let names = [account.alias, account.email, account.preferredUsername].compactMap(\.self)
            if let newPINFile {
                let pin = try await SecretSource.file(newPINFile).password("", terminal)
                if let failure = policy.failure(ofNewPIN: pin, names: names) { throw failure }
                return SharedSecret(pin)
            }
            return SharedSecret(try await terminal.newPIN("New PIN", names: names, policy: policy))
        }
    }
}
