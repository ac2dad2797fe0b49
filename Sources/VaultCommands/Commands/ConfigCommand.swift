internal import ArgumentParser
internal import CredentialVault

struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Read and change the configuration file.",
        discussion: "To see the settings in force: vault config get\n\n"
            + Settings.Name.allCases.map { "\($0.rawValue): \($0.help)" }.joined(separator: "\n"),
        subcommands: [Get.self, Set.self, Path.self])

    struct Get: AsyncParsableCommand, JSONCommand {
        // Without a name here, ArgumentParser would work it out at each start of the program.
        static let configuration = CommandConfiguration(
            commandName: "get", abstract: "Print the value of one setting, or of all.")
        @Argument(help: "The setting.") var name: Settings.Name?
        @OptionGroup var global: GlobalOptions

        func run() async throws {
            let settings = try await Settings(global)
            let names = name.map { [$0] } ?? Settings.Name.allCases
            let values = names.compactMap { name in settings[name].map { (name, $0) } }
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
    }

    struct Set: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Write a setting to the file. An empty value removes it.")
        @Argument(help: "The setting.") var name: Settings.Name
        @Argument(help: "The value. To remove the setting: ''") var value: String
        @OptionGroup var global: GlobalOptions

        func run() async throws {
            try name.validate(value)
            let value = try name.stored(value)
            try Settings.write(name, value.isEmpty ? nil : value)
            if try await Settings()[name] != (value.isEmpty ? nil : value) {
                Output.note("vault: saved, but \(name.variable) in the environment overrides the file.")
            }
            if global.json { Output.json([name.jsonName: value]) }
        }
    }

    struct Path: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "path", abstract: "Print the path of the configuration file.")
        @OptionGroup var global: GlobalOptions

        func run() async throws {
            if global.json { return Output.json(["path": Settings.path]) }
            Output.line(Settings.path)
        }
    }
}

extension Settings.Name: ExpressibleByArgument {}
