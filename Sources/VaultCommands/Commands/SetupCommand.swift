internal import ArgumentParser
internal import CredentialVault
internal import Foundation
internal import VaultBase

struct SetupCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Set up this machine: provider, client and key service.",
        discussion: """
              vault setup
              vault setup --from https://intranet.example.com/vault.json

            vault asks for the identity provider, the client and the key service, and tries each answer at once. Then \
            it writes the settings, and offers to register an account. For a backend or another server: vault \
            register URL --method METHOD.

            With --from, the settings come from a file of your organisation. Your organisation signed the file with \
            minisign, and the signature is beside the file: FILE.minisig. vault shows the settings and the \
            fingerprint of the key, and asks you to compare the fingerprint. For later files with the same key, you \
            need not compare it again, and vault refuses a file that is older than the settings in use. In a script, \
            name the key with --key.

            Settings for all users of a machine are in \(Settings.machineFile).
            """)

    @Option(
        name: .customLong("from"),
        help: ArgumentHelp("Take the settings from a signed file of your organisation.", valueName: "file-or-url"),
        completion: .file())
    var source: String?

    @Option(
        help: ArgumentHelp(
            "The public key that signs the file, as minisign prints it. Then vault asks nothing.", valueName: "key"))
    var key: String?

    @Flag(name: .customLong("no-browser"), help: "For the registration: print the address, and do not open it.")
    var noBrowser = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        guard let key else { return }
        guard source != nil else { throw ValidationError("--key needs --from: it is the key that signed that file.") }
        guard MinisignKey(key) != nil else {
            throw ValidationError("--key takes a public key of minisign: 56 characters that begin with RW.")
        }
    }

    func run() async throws {
        let settings = try await Settings(global)
        let terminal = try await Asking.terminal()
        let policy = try VaultPolicy.ofMachine() ?? .standard
        var values: [Settings.Name: String]
        if let source {
            values = try await signed(source, settings, terminal, policy)
        } else {
            guard terminal.asksForText else {
                throw VaultError(
                    .configurationInvalid,
                    "There is no terminal to ask for the settings. Use --from FILE --key KEY, or: vault config set issuer URL; vault config set key-service URL"
                )
            }
            values = try await SetupQuestions(
                terminal: terminal, settings: settings, transport: settings.transport(), policy: policy
            ).ask()
        }
        if let file = global.caFile {
            try Settings.Name.caFile.validate(file)
            values[.caFile] = try Settings.Name.caFile.stored(file)
        }
        try await SettingsChange(to: values).save(isQuiet: global.json)
        if global.json {
            return Output.json(Dictionary(uniqueKeysWithValues: values.map { ($0.key.jsonName, $0.value) }))
        }
        var options = noBrowser ? ["--no-browser"] : []
        if values[.keyService] == nil { options.append("--no-key-service") }
        let command = (["vault register"] + options).joined(separator: " ")
        let inForce = try await Settings()
        let variables = Settings.Name.allCases.filter {
            values[$0] != nil && inForce.origin(of: $0) == .environment && inForce[$0] != values[$0]
        }
        guard variables.isEmpty else {
            let names = variables.map(\.variable).joined(separator: " ")
            return Output.note("To register with these settings: unset \(names); \(command)")
        }
        guard key == nil, terminal.asksForText, try await terminal.confirm("Register an account now?") else {
            return Output.note("Next: \(command)")
        }
        if values[.keyService] == nil, let problem = try await NoKeyServiceOptions.problemOfTPM(settings) {
            terminal.tell(
                "Without a key service, a TPM has to count wrong PINs. \(problem.sentences) You can use the password alone. But then a thief of the disk can try passwords without limit. To use a token instead, answer no."
            )
            guard try await terminal.confirm("Register with the password alone?") else {
                return Output.note("Next, with a token: \(command) --fido2\nOr: \(command) --pkcs11")
            }
            options.append("--password-only")
        }
        Proposed.note(typed: ["register"] + options)
        try await RegisterCommand.parse(options + (global.verbose ? ["--verbose"] : [])).run()
    }

    /// The settings of an organisation, after the person has agreed to them.
    private func signed(
        _ source: String, _ settings: Settings, _ terminal: any Terminal, _ policy: VaultPolicy
    ) async throws -> [Settings.Name: String] {
        guard key != nil || terminal.asksForText else {
            throw VaultError(
                .configurationInvalid,
                "There is no terminal to show the fingerprint of the key. Name the key: vault setup --from FILE --key KEY"
            )
        }
        let last = settings[.settingsKey].flatMap { MinisignKey($0) }
        let (content, signature) = try await SettingsSource(place: source, transport: settings.transport()).read()
        let file = try SignedSettings(
            content, signature: signature, from: source, given: key.flatMap { MinisignKey($0) }, last: last,
            lastSigned: settings[.settingsSignedAt].flatMap { Settings.Name.time($0) })
        if let issuer = file.values[.issuer] { try policy.requireAllowed(issuer: issuer) }
        if let url = file.values[.keyService] { try policy.requireAllowed(keyService: url) }
        if !global.json || key == nil { show(file, of: source) }
        if key == nil { try await Self.agree(to: file, last: last, terminal) }
        return file.values
    }

    private func show(_ file: SignedSettings, of source: String) {
        Output.note("\(source) has these settings:")
        for name in Settings.Name.allCases where SignedSettings.allowed.contains(name) && name != .settingsKey {
            guard let value = file.values[name] else { continue }
            Output.note("  " + name.rawValue.padded(to: 23) + Printable.text(value))
        }
        Output.note("Fingerprint of the key that signed them: \(file.key.fingerprint)")
        if let time = file.signedAt { Output.note("Signed at: \(time.localText)") }
        Output.note("Comment of the signer: \(Printable.text(file.comment))")
    }

    private static func agree(to file: SignedSettings, last: MinisignKey?, _ terminal: any Terminal) async throws {
        let isAgreed: Bool
        if file.key == last {
            terminal.tell("The same key signed the settings that you use now.")
            isAgreed = try await terminal.confirm("Use these settings?")
        } else {
            if let last {
                terminal.tell(
                    "vault: WARNING: Another key signed the settings that you use now. That key has the fingerprint \(last.fingerprint). Perhaps this file is not from your organisation."
                )
            }
            terminal.tell("Compare the fingerprint with the one that your organisation gave you on paper or in person.")
            let answer = try await terminal.ask("If both are the same, type yes: ")
            isAgreed = answer.lowercased().filter { !$0.isWhitespace } == "yes"
        }
        guard isAgreed else { throw VaultError(.cancelled, "Nothing was changed.") }
    }
}
