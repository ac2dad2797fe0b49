internal import ArgumentParser

/// The completions of arguments that name something on this machine.
extension CompletionKind {
    /// For `--user`.
    static let users: CompletionKind = stored { names, _, prefix in names.users(prefix) }

    /// For the name of an item.
    static let items: CompletionKind = stored { names, words, _ in await names.items(for: words) }

    /// For `vault exec --item`: each item with a variable that is named after it.
    static let itemVariables: CompletionKind = stored { names, words, _ in
        await names.items(for: words).map { "\($0)=\(ItemVariable.suggestion(for: $0))" }
    }

    /// For an unlock method.
    static let keyslots: CompletionKind = stored { names, words, _ in names.keyslots(for: words) }

    /// For `vault manual`: the commands below those that are typed already.
    static let commands: CompletionKind = .custom { words, index, _ in
        subcommands(of: VaultCommand.self, words.prefix(index).dropFirst(2))
    }

    private static func subcommands(
        of command: any ParsableCommand.Type, _ words: ArraySlice<String>
    ) -> [String] {
        for subcommand in command.configuration.subcommands where subcommand._commandName == words.first {
            return subcommands(of: subcommand, words.dropFirst())
        }
        let visible = command.configuration.subcommands.filter { $0.configuration.shouldDisplay }
        return words.isEmpty ? visible.map { $0._commandName } : []
    }

    private static func stored(
        _ names: @escaping @Sendable (StoredNames, [String], String) async -> [String]
    ) -> CompletionKind {
        .custom { words, _, prefix in
            guard let stored = await StoredNames() else { return [] }
            var seen: Set<String> = []
            let found = await names(stored, words, prefix).filter { seen.insert($0).inserted }
            return found.compactMap { CompletedWord.text($0, for: CompletionShell.requesting) }
        }
    }
}

/// A word in the form that a shell's completion script needs. Some names come from an identity provider. bash expands
/// the words that it gets, so it would run `$(command)` in a name.
enum CompletedWord {
    /// - Returns: nil for a name that a person cannot type.
    static func text(_ name: String, for shell: CompletionShell?) -> String? {
        guard !name.isEmpty, Printable.text(name) == name else { return nil }
        switch shell {
        // Neither shell quotes these characters when it puts the word into the command line.
        case .bash?: return name.contains { "$`!".contains($0) } ? nil : ShellQuoting.quoted(name)
        // zsh reads the text after a colon as the description.
        case .zsh?:
            return name.contains("!") ? nil : name.replacing("\\", with: "\\\\").replacing(":", with: "\\:")
        default: return name
        }
    }
}

extension ItemVariable {
    /// The variable for an item: `API_KEY` for `api-key`.
    static func suggestion(for name: String) -> String {
        let letters = name.uppercased().unicodeScalars.map { scalar in
            scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
                ? Character(scalar) : "_"
        }
        return (letters.first?.isNumber == true ? "_" : "") + String(letters)
    }
}
