internal import Foundation
internal import VaultStorage

/// The default browser of the desktop, from its `.desktop` file (freedesktop.org Desktop Entry Specification).
package struct DefaultBrowser: Sendable {
    /// How a browser separates one sign-in from others.
    package enum Privacy: Sendable {
        /// The option for a private window.
        case window(String)
        /// The options for a profile in a folder.
        case profile(@Sendable (String) -> [String])
    }

    /// The name of the `.desktop` file without its ending, for people.
    package let name: String
    /// The command without an address. Its first word is a path.
    package let command: [String]

    /// - Throws: ``VaultError`` with code `configurationInvalid`.
    static func find() async throws -> DefaultBrowser {
        for query in [
            ["xdg-settings", "get", "default-web-browser"], ["xdg-mime", "query", "default", "x-scheme-handler/https"],
            ["xdg-mime", "query", "default", "x-scheme-handler/http"],
        ] {
            guard let program = BrowserProcess.path(of: query[0]) else { continue }
            let process = BrowserProcess([program] + query.dropFirst(), keepsOutput: true)
            let status = await process.start(within: .seconds(5))
            guard status != nil else {
                await process.stop()
                continue
            }
            guard status == 0 else { continue }
            let id = process.text.trimmingCharacters(in: .whitespacesAndNewlines)
            guard isID(id), let text = entry(id), let words = words(ofEntry: text), let first = words.first
            else { continue }
            let name = String(id.dropLast(".desktop".count))
            guard let path = BrowserProcess.path(of: first) else {
                throw VaultError(
                    .configurationInvalid,
                    "The default browser \(name) is not installed (\(first) is missing). To choose another one: xdg-settings set default-web-browser NAME.desktop"
                )
            }
            return DefaultBrowser(name: name, command: [path] + words.dropFirst())
        }
        throw VaultError(
            .configurationInvalid,
            "No default browser is set. To set one: xdg-settings set default-web-browser NAME.desktop"
        )
    }

    package init(name: String, command: [String]) {
        self.name = name
        self.command = command
    }

    /// The way to separate a sign-in; nil if it is not known for this browser.
    package var privacy: Privacy? {
        let (program, isConfined) = program
        let parts = Set(program.lowercased().split { !$0.isLetter && !$0.isNumber }.map(String.init))
        func isOne(of names: String...) -> Bool { !parts.isDisjoint(with: names) }
        if isOne(of: "edge", "msedge") { return .window("--inprivate") }
        if isOne(of: "firefox", "librewolf", "waterfox", "floorp") { return .window("--private-window") }
        if isOne(of: "chromium", "chrome", "brave", "vivaldi") { return .window("--incognito") }
        // A sandboxed browser sees another folder.
        guard !isConfined else { return nil }
        if isOne(of: "opera") { return .profile { ["--user-data-dir=\($0)", "--no-first-run"] } }
        if isOne(of: "epiphany") { return .profile { ["--private-instance", "--profile=\($0)"] } }
        if isOne(of: "qutebrowser") { return .profile { ["--basedir", $0] } }
        return nil
    }

    /// The program that `env`, Flatpak or Snap starts in the end, and whether Flatpak or Snap confines it.
    private var program: (name: String, isConfined: Bool) {
        func last(_ path: String) -> String { String(path.split(separator: "/").last ?? "") }
        var words = command[...]
        if words.first.map(last) == "env" {
            words = words.dropFirst().drop { $0.contains("=") }
        }
        let first = words.first ?? ""
        guard ["flatpak", "snap"].contains(last(first)) else { return (last(first), first.hasPrefix("/snap/")) }
        return (words.dropFirst().first { !$0.hasPrefix("-") && $0 != "run" } ?? "", true)
    }

    // MARK: - The file

    private static func isID(_ id: String) -> Bool {
        id.hasSuffix(".desktop") && !id.contains("/") && !id.contains { $0.isNewline }
    }

    private static func entry(_ id: String) -> String? {
        let environment = ProcessInfo.processInfo.environment
        func folders(_ name: String, _ standard: String) -> [String] {
            (environment[name].flatMap { $0.isEmpty ? nil : $0 } ?? standard).split(separator: ":").map(String.init)
        }
        let home = environment["HOME"] ?? NSHomeDirectory()
        return
            (folders("XDG_DATA_HOME", "\(home)/.local/share") + folders("XDG_DATA_DIRS", "/usr/local/share:/usr/share"))
            .flatMap { folder in
                // A dash may stand for a folder.
                [
                    "\(folder)/applications/\(id)",
                    "\(folder)/applications/\(id.replacing("-", with: "/", maxReplacements: 1))",
                ]
            }
            .lazy.compactMap { try? String(contentsOfFile: $0, encoding: .utf8) }.first
    }

    /// Returns the words of the entry's `Exec` without placeholders for addresses; nil if there is none.
    package static func words(ofEntry text: String) -> [String]? {
        var isInEntry = false
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("[") { isInEntry = line.hasPrefix("[Desktop Entry]") }
            let parts = line.split(separator: "=", maxSplits: 1)
            guard isInEntry, parts.count == 2, parts[0].trimmingCharacters(in: .whitespaces) == "Exec" else { continue }
            return words(of: unescaped(parts[1]))
        }
        return nil
    }

    /// Decodes a value of type string. Its escapes are decoded before those of `Exec`.
    private static func unescaped(_ value: Substring) -> String {
        var text = ""
        var isEscaped = false
        for character in value {
            if isEscaped {
                // Any other backslash belongs to the escapes of Exec.
                let known = ["s": " ", "n": "\n", "t": "\t", "r": "\r", "\\": "\\"] as [Character: String]
                text += known[character] ?? "\\\(character)"
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else {
                text.append(character)
            }
        }
        return text
    }

    private static func words(of line: String) -> [String]? {
        var words: [String] = []
        var word: String?
        var (isQuoted, isEscaped) = (false, false)
        for character in line {
            switch character {
            case _ where isEscaped:
                word?.append(character)
                isEscaped = false
            case "\\" where isQuoted: isEscaped = true
            case "\"":
                isQuoted.toggle()
                word = word ?? ""
            case " " where !isQuoted, "\t" where !isQuoted:
                if let done = word { words.append(done) }
                word = nil
            default: word = (word ?? "") + String(character)
            }
        }
        if let word { words.append(word) }
        guard !isQuoted else { return nil }
        // Flatpak puts @@ around an address that its sandbox may read. After "--" or qutebrowser's "--untrusted-args",
        // our options would count as addresses.
        words.removeAll {
            ["@@", "@@u", "--", "--untrusted-args"].contains($0) || $0.replacing("%%", with: "").contains("%")
        }
        return words.isEmpty ? nil : words.map { $0.replacing("%%", with: "%") }
    }
}
