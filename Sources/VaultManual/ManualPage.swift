package import ArgumentParser
internal import FoundationEssentials

/// A man page, made of the help of a program's commands.
package struct ManualPage {
    /// A section beside those that the help fills: its title, and a list.
    package struct Section: Sendable {
        let title: String
        let entries: [(name: String, text: String)]

        package init(_ title: String, _ entries: [(name: String, text: String)]) {
            self.title = title
            self.entries = entries
        }
    }

    private let root: CommandHelp
    private let version: String
    private let section: Int
    private let date: String
    private let statuses: ExitStatuses
    private let sections: [Section]

    /// - Parameters:
    ///   - date: the date of the page, as `2026-01-31`.
    ///   - statuses: the exit statuses. Their paragraph in the help of the program becomes a section.
    /// - Throws: `DecodingError` when the argument parser dumps its help in another form than this reads.
    package init(
        of program: any ParsableCommand.Type, section: Int, date: String, statuses: ExitStatuses, sections: [Section]
    ) throws {
        root = try JSONDecoder().decode(CommandHelp.Dump.self, from: Data(program._dumpHelp().utf8)).command
        version = program.configuration.version
        self.section = section
        self.date = date
        self.statuses = statuses
        self.sections = sections
    }

    /// The date for a page: today, or the date in `SOURCE_DATE_EPOCH`. With that variable, two builds of a package are the
    /// same.
    package static func date(environment: [String: String]) -> String {
        let date = environment["SOURCE_DATE_EPOCH"].flatMap(Double.init).map(Date.init(timeIntervalSince1970:))
        return (date ?? Date()).formatted(Date.ISO8601FormatStyle(timeZone: .gmt).year().month().day())
    }

    /// The page of the program, or of one command.
    ///
    /// - Parameter path: the names of the command without the program's; empty for the page of the whole program.
    /// - Returns: nil when there is no such command.
    package func text(of path: [String] = []) -> String? {
        var command = root
        for name in path {
            guard let next = command.subcommand(name) else { return nil }
            command = next
        }
        var roff = Roff()
        let name = command.fullName.split(separator: " ").joined(separator: "-")
        roff.title(name, section: section, date: date, source: "\(root.commandName) \(version)")
        roff.section("Name")
        roff.body("\(name) - \(command.abstract ?? "")")
        roff.section("Synopsis")
        synopsis(of: command, without: [], &roff)
        if let text = description(of: command), !text.isEmpty {
            roff.section("Description")
            roff.discussion(text, after: false)
        }
        describe(command, &roff)
        if path.isEmpty {
            closing(&roff)
        } else {
            roff.section("See also")
            roff.body("\(root.commandName)(\(section)) has the exit statuses, the files and the environment.")
        }
        return roff.text
    }

    /// The help's text without the exit statuses. These have their own section.
    private func description(of command: CommandHelp) -> String? {
        command.discussion?.replacing(statuses.paragraphs, with: "")
    }

    /// The options of the command, and everything about the commands below it.
    private func describe(_ command: CommandHelp, _ roff: inout Roff) {
        let commands = command.all.dropFirst()
        guard !commands.isEmpty else { return options(command.visibleArguments, "Options", &roff) }
        let shared = SharedArguments(of: Array(commands))
        roff.section("Commands")
        for command in commands {
            roff.subsection(command.fullName)
            synopsis(of: command, without: shared.ofAll, &roff)
            roff.paragraph()
            roff.body(command.abstract ?? "")
            if let text = description(of: command) { roff.discussion(text, after: true) }
            for argument in command.visibleArguments where !shared.contains(argument) {
                roff.entry(argument.heading, argument.paragraphs)
            }
        }
        options(shared.ofSeveral, "Options of several commands", &roff)
        options(shared.ofAll, "Options of every command", &roff)
    }

    private func options(_ arguments: [CommandHelp.Argument], _ title: String, _ roff: inout Roff) {
        guard !arguments.isEmpty else { return }
        roff.section(title)
        for argument in arguments { roff.entry(argument.heading, argument.paragraphs) }
    }

    private func synopsis(of command: CommandHelp, without left: [CommandHelp.Argument], _ roff: inout Roff) {
        // The arguments come last, as in the help.
        let arguments = command.visibleArguments.filter { !left.contains($0) }
        let sorted = arguments.filter { $0.kind != .positional } + arguments.filter { $0.kind == .positional }
        let subcommands = command.visibleSubcommands.map(\.commandName)
        let choice = subcommands.count > 8 ? "<command>" : subcommands.joined(separator: " | ")
        let hasDefault = command.defaultSubcommand != nil
        roff.synopsis(
            command.fullName,
            sorted.map(\.synopsis) + (subcommands.isEmpty ? [] : [hasDefault ? "[\(choice)]" : choice]))
    }

    private func closing(_ roff: inout Roff) {
        roff.section("Exit status")
        for (status, meaning) in statuses.meanings { roff.entry(String(status), [meaning]) }
        if !statuses.remark.isEmpty {
            roff.paragraph()
            roff.body(statuses.remark)
        }
        for section in sections {
            roff.section(section.title)
            for entry in section.entries { roff.entry(entry.name, [entry.text]) }
        }
    }
}

/// The options that several commands have, so that the page describes each only once.
private struct SharedArguments {
    /// More than this many commands describe an option together.
    private static let limit = 3

    let ofAll: [CommandHelp.Argument]
    let ofSeveral: [CommandHelp.Argument]

    init(of commands: [CommandHelp]) {
        let leaves = commands.filter(\.visibleSubcommands.isEmpty)
        var counts: [CommandHelp.Argument: Int] = [:]
        var inOrder: [CommandHelp.Argument] = []
        for argument in leaves.flatMap(\.visibleArguments) where argument.kind != .positional {
            if counts[argument] == nil { inOrder.append(argument) }
            counts[argument, default: 0] += 1
        }
        ofAll = inOrder.filter { leaves.count > 1 && counts[$0] == leaves.count }
        ofSeveral = inOrder.filter { leaves.count > counts[$0, default: 0] && counts[$0, default: 0] > Self.limit }
    }

    func contains(_ argument: CommandHelp.Argument) -> Bool { ofAll.contains(argument) || ofSeveral.contains(argument) }
}
