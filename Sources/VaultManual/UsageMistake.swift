package import ArgumentParser

/// A mistyped command line, in words for a person. The argument parser takes a mistyped command for an argument that is
/// too much, and proposes options that are nothing like the typed one.
package struct UsageMistake: Sendable {
    /// What is wrong, in one or two sentences.
    package let message: String
    /// The message, and how to find the right usage.
    package let text: String

    /// - Parameters:
    ///   - error: the error of the argument parser.
    ///   - program: the program that parsed the arguments.
    ///   - arguments: the arguments, without the name of the program.
    package init(_ error: any Error, of program: any ParsableCommand.Type, arguments: [String]) {
        if let unknown = Self.unknownCommand(program, arguments[...], after: [program._commandName]) {
            message = unknown
            text = program._errorPrefix + unknown
            return
        }
        let (own, full) = (program.message(for: error), program.fullMessage(for: error))
        message = Self.withUserOption(Self.withoutFarOption(own), Self.command(program, arguments[...]))
        text = own == message ? full : full.replacing(own, with: message)
    }

    /// - Parameter path: the names of the commands that were found already.
    /// - Returns: nil if all commands exist.
    private static func unknownCommand(
        _ command: any ParsableCommand.Type, _ arguments: ArraySlice<String>, after path: [String]
    ) -> String? {
        let subcommands = command.configuration.subcommands
        guard let word = arguments.first, !subcommands.isEmpty, !word.hasPrefix("-"), !word.isEmpty, word != "help"
        else { return nil }
        if let next = subcommands.first(where: { $0._commandName == word }) {
            return unknownCommand(next, arguments.dropFirst(), after: path + [word])
        }
        let names = subcommands.filter { $0.configuration.shouldDisplay }.map { $0._commandName }
        let way = path.joined(separator: " ")
        let name = (path.dropFirst() + [word]).joined(separator: " ")
        guard let near = names.nearest(to: word) else {
            return "There is no command \"\(name)\". See: \(way) --help"
        }
        return "There is no command \"\(name)\". Did you mean \"\(way) \(near)\"?"
    }

    /// The command that the arguments begin with.
    private static func command(
        _ command: any ParsableCommand.Type, _ arguments: ArraySlice<String>
    ) -> any ParsableCommand.Type {
        guard let word = arguments.first,
            let next = command.configuration.subcommands.first(where: { $0._commandName == word })
        else { return command }
        return self.command(next, arguments.dropFirst())
    }

    /// The message, with the option for a person who typed an account's name without it.
    private static func withUserOption(_ message: String, _ command: any ParsableCommand.Type) -> String {
        let parts = message.split(separator: "'", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, parts[0] == "Unexpected argument ", !parts[1].hasPrefix("-"),
            command.helpMessage().contains("--user <")
        else { return message }
        // The argument has no quotation mark, so a pair around it is enough for a shell.
        let isPlain = !parts[1].isEmpty && parts[1].allSatisfy { $0.isLetter || $0.isNumber || "@._-+:/".contains($0) }
        return "\(message). For an account: --user \(isPlain ? parts[1] : "'\(parts[1])'")"
    }

    /// The message without a proposal that is far from the unknown option.
    private static func withoutFarOption(_ message: String) -> String {
        let parts = message.split(separator: "'", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 5, parts[0] == "Unknown option ", parts[2] == ". Did you mean ",
            [parts[3]].nearest(to: parts[1]) == nil
        else { return message }
        return "Unknown option '\(parts[1])'"
    }
}

extension [String] {
    /// The word that a person probably meant: one that is spelt almost so, or the only one that begins so.
    fileprivate func nearest(to typed: String) -> String? {
        let letters = typed.drop { $0 == "-" }.count
        // Nobody means a command by a long text, and the comparison would take long.
        guard letters <= 40 else { return nil }
        let near = map { (word: $0, slips: $0.slips(to: typed)) }.min { $0.slips < $1.slips }
        if let near, near.slips <= Swift.max(1, letters / 3) { return near.word }
        let longer = filter { letters > 1 && $0.hasPrefix(typed) }
        return longer.count == 1 ? longer.first : nil
    }
}

extension String {
    /// The number of slips between two words: letters that are missing, too many, wrong, or in the wrong order with
    /// their neighbour (optimal string alignment).
    fileprivate func slips(to other: String) -> Int {
        let (from, to) = (Array(self), Array(other))
        var rows = [Array(0...to.count)]
        for i in 0..<from.count {
            var row = [i + 1]
            for j in 0..<to.count {
                var least = Swift.min(rows[i][j + 1], row[j]) + 1
                least = Swift.min(least, rows[i][j] + (from[i] == to[j] ? 0 : 1))
                if i > 0, j > 0, from[i] == to[j - 1], from[i - 1] == to[j] {
                    least = Swift.min(least, rows[i - 1][j - 1] + 1)
                }
                row.append(least)
            }
            rows.append(row)
        }
        return rows[from.count][to.count]
    }
}
