/// The parts of a command's help that a man page shows, from the dump of the argument parser.
struct CommandHelp: Decodable {
    let superCommands: [String]?
    let shouldDisplay: Bool?
    let commandName: String
    let abstract: String?
    let discussion: String?
    let defaultSubcommand: String?
    let subcommands: [CommandHelp]?
    let arguments: [Argument]?

    struct Dump: Decodable {
        let command: CommandHelp
    }

    struct Argument: Decodable, Hashable {
        let kind: Kind
        let shouldDisplay: Bool
        let isOptional: Bool
        let isRepeating: Bool
        let parsingStrategy: String
        let names: [Name]?
        let preferredName: Name?
        let valueName: String?
        let defaultValue: String?
        let allValues: [String]?
        let allValueDescriptions: [String: String]?
        let abstract: String?
        let discussion: String?

        enum Kind: String, Decodable { case positional, option, flag }
    }

    struct Name: Decodable, Hashable {
        let kind: String
        let name: String

        var text: String { (kind == "long" ? "--" : "-") + name }
    }

    /// The name after the names of the commands above: `vault unlock add`.
    var fullName: String { ((superCommands ?? []) + [commandName]).joined(separator: " ") }

    /// The subcommands that people see. The parser adds `help` to the dump, and `--help` does the same.
    var visibleSubcommands: [CommandHelp] {
        (subcommands ?? []).filter { $0.shouldDisplay != false && $0.commandName != "help" }
    }

    /// The arguments that people see, without `--help` and `--version`.
    var visibleArguments: [Argument] {
        (arguments ?? []).filter { argument in
            argument.shouldDisplay && !["help", "version"].contains(argument.preferredName?.name)
        }
    }

    /// This command and all below it that people see, in the order of the help.
    var all: [CommandHelp] { [self] + visibleSubcommands.flatMap(\.all) }

    /// The command of that name below this one.
    func subcommand(_ name: String) -> CommandHelp? { (subcommands ?? []).first { $0.commandName == name } }
}

extension CommandHelp.Argument {
    /// As a synopsis shows it: `[--user <id>]`.
    var synopsis: String {
        let value = "<\(valueName ?? preferredName?.name ?? "value")>"
        let text =
            switch kind {
            case .positional: parsingStrategy == "postTerminator" ? "-- \(value)" : value
            case .option: "\(preferredName?.text ?? "") \(value)"
            case .flag: flagNames
            }
        let repeated = isRepeating ? "\(text)..." : text
        return isOptional ? "[\(repeated)]" : repeated
    }

    /// As the list of options shows it: `-v, --verbose`.
    var heading: String {
        let names = (names ?? []).map(\.text).joined(separator: ", ")
        let value = "<\(valueName ?? preferredName?.name ?? "value")>"
        return kind == .positional ? value : kind == .option ? "\(names) \(value)" : names
    }

    /// A flag may have a name for each of its values.
    private var flagNames: String {
        let long = (names ?? []).filter { $0.kind == "long" }
        return long.count > 1 ? long.map(\.text).joined(separator: " | ") : preferredName?.text ?? ""
    }

    /// The description of the argument, in paragraphs.
    var paragraphs: [String] {
        let facts = [
            abstract, defaultValue.map { "(default: \($0))" },
            allValueDescriptions == nil ? allValues.map { "(values: \($0.joined(separator: ", ")))" } : nil,
        ]
        let values = allValues?.compactMap { value in allValueDescriptions?[value].map { "\(value): \($0)" } } ?? []
        return [facts.compactMap(\.self).joined(separator: " "), discussion ?? "", values.joined(separator: "\n")]
            .filter { !$0.isEmpty }
    }
}
