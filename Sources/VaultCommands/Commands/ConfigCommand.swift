internal import ArgumentParser
internal import CredentialVault

struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Read and change your settings file.",
        discussion: "To see the settings in force: vault config get\n\n"
            + "A setting of your file wins over the same setting in \(Settings.machineFile). Root writes that file for all "
            + "users of the machine.\n\n"
            + Settings.Name.allCases.map { "\($0.rawValue): \($0.help)" }.joined(separator: "\n"),
        subcommands: [Get.self, Set.self, Unset.self, Path.self])

    struct Get: AsyncParsableCommand, JSONCommand {
        // Without a name here, ArgumentParser would work it out at each start of the program.
        static let configuration = CommandConfiguration(
            commandName: "get", abstract: "Print the value of one setting, or of all.")
        @Argument(help: "The setting.") var name: Settings.Name?
        @Flag(
            name: .customLong("show-origin"),
            help: "Also print where each value comes from: an option, a variable or a file.")
        var showOrigin = false
        @OptionGroup var global: GlobalOptions

        func run() async throws {
            let settings = try await Settings(global)
            let names = name.map { [$0] } ?? Settings.Name.allCases
            let values = names.compactMap { name in settings[name].map { (name, $0) } }
            if showOrigin { return Self.report(values, settings, isJSON: global.json) }
            if global.json {
                return Output.json(Dictionary(uniqueKeysWithValues: values.map { ($0.0.jsonName, $0.1) }))
            }
            if let name {
                guard let value = settings[name] else {
                    throw VaultError(
                        .configurationInvalid,
                        "\(name.rawValue) is not set. Set it: vault config set \(name.rawValue) VALUE")
                }
                return Output.line(value)
            }
            for (name, value) in values { Output.line("\(name.rawValue)=\(value)") }
        }

        /// Prints settings and where they come from.
        private static func report(_ values: [(Settings.Name, String)], _ settings: Settings, isJSON: Bool) {
            let rows = values.map { name, value in (name, value, settings.origin(of: name)?.text(name) ?? "") }
            if isJSON {
                let members = rows.map { ($0.0.jsonName, ["value": $0.1, "origin": $0.2]) }
                return Output.json(Dictionary(uniqueKeysWithValues: members))
            }
            let table = rows.map { [$0.0.rawValue, Printable.text($0.1), $0.2] }
            Output.table(Table(rows: [["SETTING", "VALUE", "ORIGIN"]] + table))
        }
    }

    struct Set: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Write a setting to the file. An empty value removes it.")
        @Argument(help: "The setting.") var name: Settings.Name
        @Argument(help: "The value. To remove the setting: ''") var value: String
        @OptionGroup var global: GlobalOptions

        func run() async throws {
            try name.validate(value)
            if name == .user { try await requireAccount(named: value) }
            let value = try name.stored(value)
            try await ConfigCommand.write(name, value.isEmpty ? nil : value)
            if global.json { Output.json([name.jsonName: value]) }
        }

        /// Refuses a name that no account here has, because it would stop every later command. Before the first
        /// registration, any name is possible.
        private func requireAccount(named user: String) async throws {
            // A store that cannot be read must not keep anybody from a change of the settings.
            guard !user.isEmpty, let vault = try? await global.openVault(),
                let accounts = try? await vault.storage.all(), !accounts.isEmpty
            else { return }
            do {
                _ = try await UserOption.account(user, in: vault)
            } catch let error as VaultError where error.code == .accountNotFound {
                throw await VaultError.unknown(user, accounts, in: vault.storage)
            }
        }
    }

    struct Unset: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "unset", abstract: "Remove a setting from the file.")
        @Argument(help: "The setting.") var name: Settings.Name
        @OptionGroup var global: GlobalOptions

        func run() async throws {
            try await ConfigCommand.write(name, nil)
            if global.json { Output.json([name.jsonName: ""]) }
        }
    }

    /// Writes a setting to the file, and tells the person if another value is in force.
    ///
    /// - Parameter value: nil to remove the setting.
    private static func write(_ name: Settings.Name, _ value: String?) async throws {
        var values: [Settings.Name: String?] = [name: value]
        for other in SettingsChange.hiding(beside: name, in: try Settings.stored()) {
            values.updateValue(nil, forKey: other)
        }
        // The time belongs to the settings that the old key signed.
        if name == .settingsKey { values.updateValue(nil, forKey: .settingsSignedAt) }
        try Settings.write(values)
        let settings = try await Settings()
        guard settings[name] != value else { return }
        let isOfMachine = settings.origin(of: name) == .machine
        Output.note(
            isOfMachine
                ? "vault: removed, but \(Settings.machineFile) has a value for all users of this machine."
                : "vault: saved, but \(name.variable) in the environment overrides the file.")
    }

    struct Path: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "path", abstract: "Print the path of your settings file.")
        @OptionGroup var global: GlobalOptions

        func run() async throws {
            if global.json { return Output.json(["path": Settings.path]) }
            Output.line(Settings.path)
        }
    }
}

extension Settings.Name: ExpressibleByArgument {}
