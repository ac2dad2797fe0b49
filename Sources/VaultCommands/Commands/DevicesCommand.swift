internal import ArgumentParser
internal import CredentialVault

struct DevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices", abstract: "List, name and revoke the machines that open an account.",
        discussion: """
              vault devices
              vault devices rename "old laptop" --device 3f2a9c01
              vault devices revoke 3f2a9c01

            The key service keeps the list. These commands send an access token to the key service, to prove who you \
            are. The token is only for this key service. If the provider makes no such tokens, nothing is sent: see \
            the setting key-service-audience.

            A machine is on the list after "vault devices list" was typed there. To list a machine at each login: \
            vault config set devices on
            """,
        subcommands: [List.self, Rename.self, Revoke.self], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the machines. If this machine is missing, it is added.",
            discussion: """
                Only unlock methods of protocol version 2 are listed. A machine that was registered separately is an \
                "unknown device", because only that machine can read its name. You can name it from here: \
                vault devices rename

                KEYS OF names the unlock methods of a machine. Only the machine itself can read which they are, so \
                those of another machine are "unknown". LOCKED says "yes" if all unlock methods of the machine are locked. \
                If only some are locked, it names them. Of another machine, it says how many, such as "1 of 2".
                """)

        @OptionGroup var user: UserOption
        @OptionGroup var unlock: UnlockOptions
        @OptionGroup var global: GlobalOptions

        func run() async throws {
            let (account, devices) = try await DevicesCommand.open(user, unlock, global, countsOpen: true)
            let all = try await DevicesCommand.listed(devices, global)
            if global.json { return Output.json(all.map(DeviceReport.init)) }
            Output.table(Table(all))
            if !all.contains(where: \.isThisDevice) {
                let isListable = account.keyslots.contains { $0.isOPRF }
                Output.note(
                    isListable
                        ? "vault: this machine could not be put on the list. Perhaps it was revoked: log in, then try again."
                        : "vault: this machine is not on the list. Only unlock methods of protocol version 2 are listed: see \(Proposed.command("unlock list"))"
                )
            }
        }
    }

    struct Rename: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "rename", abstract: "Name this machine, or another one.",
            discussion: "Only this machine can read the name that you give another machine.")

        @Argument(help: "The new name.") var name: String
        @Option(help: ArgumentHelp("The machine's id, as \"vault devices\" shows it. (default: this machine)"))
        var device: String?
        @OptionGroup var user: UserOption
        @OptionGroup var unlock: UnlockOptions
        @OptionGroup var global: GlobalOptions

        func validate() throws {
            guard (1...100).contains(name.count), Printable.text(name) == name else {
                throw ValidationError("A name has 1 to 100 characters on one line.")
            }
            if let device { try DevicesCommand.requireID(device) }
        }

        func run() async throws {
            let (_, devices) = try await DevicesCommand.open(user, unlock, global)
            let all = try await DevicesCommand.listed(devices, global)
            let found = try device.map(all.device(named:)) ?? all.thisDevice()
            try await Spinner.during("Asking the key service", isQuiet: global.json) {
                try await devices.rename(found, to: name)
            }
            if global.json { return Output.json(["renamed": found.id, "name": name]) }
            Output.line(
                "\(found.isThisDevice ? "This machine" : "The device \(found.shortID(in: all))") is \(name) now.")
        }
    }

    struct Revoke: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "revoke", abstract: "End the keys of a machine at the key service, for good.",
            discussion: """
                Revoke a machine that is lost or stolen. Its next login fails with exit status 80. An open session \
                there adds no unlock method, and ends when it renews its tokens, but not in the first minute after \
                its login. Its offline unlock methods are removed when they are used there online.
                """)

        @Argument(help: ArgumentHelp("The machine's id, as \"vault devices\" shows it.", valueName: "id"))
        var id: String
        @Flag(help: "Do not ask.")
        var yes = false
        @OptionGroup var user: UserOption
        @OptionGroup var unlock: UnlockOptions
        @OptionGroup var global: GlobalOptions

        func validate() throws { try DevicesCommand.requireID(id) }

        func run() async throws {
            let (account, devices) = try await DevicesCommand.open(user, unlock, global)
            let all = try await DevicesCommand.listed(devices, global)
            let device = try all.device(named: id)
            let name = device.shownName == nil ? "the unknown device \(device.shortID(in: all))" : device.label
            if !yes { try await confirm(device, name, account) }
            try await Spinner.during("Revoking", isQuiet: global.json) { try await devices.revoke(device) }
            if device.isThisDevice { try? await AgentSessions(Settings(global)).forget(account.id) }
            if global.json { return Output.json(["revoked": device.id]) }
            Output.line("Revoked \(name). Its keys at the key service have ended.")
            if device.isThisDevice {
                let user = Printable.text(account.displayName)
                Output.note("vault: nothing opens \(user) on this machine any more. \(Proposed.registering())")
            } else {
                Output.note(
                    "vault: an open session there ends when it renews its tokens, but not in the first minute after its login. Its offline unlock methods stay until one of them is used there online."
                )
            }
        }

        private func confirm(_ device: AccountDevice, _ name: String, _ account: Account) async throws {
            let terminal = try await Asking.terminal()
            guard !global.json, terminal.isInteractive else {
                throw VaultError(
                    .configurationInvalid, "There is no terminal to ask. Use --yes to revoke without asking.")
            }
            if device.isThisDevice {
                let user = Printable.text(account.displayName)
                terminal.tell(
                    "This is the machine that you use now. After that, nothing opens \(user) here, and the items of \(user) here are lost. To use \(user) here again, you have to register again."
                )
            }
            guard try await terminal.confirm("Revoke \(name)?") else {
                throw VaultError(.cancelled, "Nothing was revoked.")
            }
        }
    }

    /// Refuses the beginning of an id that says too little.
    private static func requireID(_ text: String) throws {
        guard text.count >= 4 else { throw ValidationError("Type at least 4 digits of the id.") }
    }

    /// Opens the account, and returns its devices.
    private static func open(
        _ user: UserOption, _ unlock: UnlockOptions, _ global: GlobalOptions, countsOpen: Bool = false
    ) async throws -> (Account, SessionDevices) {
        let vault = try await unlock.openVault(global)
        let account = try await user.account(in: vault, countsOpen: countsOpen)
        try account.requireKeyService(for: "The list of devices")
        let session = try await unlock.session(
            of: account, in: vault, isReusable: true, needsToken: true, global)
        return (account, session.devices)
    }

    private static func listed(_ devices: SessionDevices, _ global: GlobalOptions) async throws -> [AccountDevice] {
        try await Spinner.during("Asking the key service", isQuiet: global.json) { try await devices.list() }
    }
}

extension [AccountDevice] {
    /// The device that a person means by the beginning of its id.
    fileprivate func device(named text: String) throws -> AccountDevice {
        let matches = filter { $0.id.hasPrefix(text.lowercased()) }
        guard let first = matches.first else {
            throw VaultError(.deviceNotFound, "The list has no device with the id \(Printable.text(text)).")
        }
        guard matches.count == 1 else {
            throw VaultError(.deviceNotFound, "Several ids begin with \(text). Type more digits of the id.")
        }
        return first
    }

    fileprivate func thisDevice() throws -> AccountDevice {
        guard let device = first(where: \.isThisDevice) else {
            throw VaultError(.deviceNotFound, "This machine is not on the list.")
        }
        return device
    }
}
