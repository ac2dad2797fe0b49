/// Writes a man page in roff, with the macros of man(7).
struct Roff {
    private(set) var text = ""

    /// Longer lines of the source are broken between words.
    private static let width = 78

    /// The first line of the page.
    ///
    /// - Parameters:
    ///   - section: the section of the manual: 1 for commands, 8 for programs of administrators.
    ///   - date: the date of the page, as `2026-01-31`.
    ///   - source: the program and its version.
    mutating func title(_ name: String, section: Int, date: String, source: String) {
        text += ".TH \"\(Self.escaped(name.uppercased()))\" \(section) \"\(date)\" \"\(Self.escaped(source))\"\n"
        // Commands are there to be copied: no word is divided, and no space is stretched.
        // At each paragraph, groff 1.23 uses the string AD in place of the request.
        text += ".nh\n.ad l\n.ds AD l\n"
    }

    mutating func section(_ title: String) { macro("SH", [title.uppercased()]) }

    mutating func subsection(_ title: String) { macro("SS", [title]) }

    mutating func paragraph() { macro("PP", []) }

    /// An entry of a list: its name, and its description below.
    mutating func entry(_ name: String, _ paragraphs: [String]) {
        macro("TP", [])
        line("\\fB" + Self.escaped(name) + "\\fR")
        for (index, paragraph) in paragraphs.enumerated() {
            if index > 0 && Self.list(in: paragraph) == nil { macro("IP", []) }
            body(paragraph)
        }
    }

    /// A synopsis: the command in bold, and its arguments. An argument stays on one line. A choice can
    /// be broken after each "|".
    mutating func synopsis(_ command: String, _ arguments: [String]) {
        macro("HP", [])
        line("\\fB" + Self.escaped(command) + "\\fR")
        for argument in arguments {
            line(Self.escaped(argument).replacing(" ", with: "\\ ").replacing("|\\ ", with: "| "))
        }
    }

    /// A paragraph. Each of its lines begins a line of the page. Lines such as `name: what it is` become a list.
    mutating func body(_ paragraph: String) {
        if let list = Self.list(in: paragraph) {
            macro("RS", [])
            for (name, text) in list { entry(name, [text]) }
            return macro("RE", [])
        }
        // Indented lines are samples to type.
        if paragraph.hasPrefix("  ") {
            text += ".RS\n.nf\n"
            for words in paragraph.split(separator: "\n") { line(Self.escaped(words.dropFirst(2))) }
            text += ".fi\n.RE\n"
            return
        }
        for (index, words) in paragraph.split(separator: "\n").enumerated() {
            if index > 0 { macro("br", []) }
            wrap(Self.escaped(words.drop { $0 == " " }))
        }
    }

    /// The names of a list with their descriptions; nil for a paragraph that is no list.
    private static func list(in paragraph: String) -> [(name: String, text: String)]? {
        let lines = paragraph.split(separator: "\n")
        let entries = lines.compactMap { line -> (name: String, text: String)? in
            guard let colon = line.firstRange(of: ": "), !line[..<colon.lowerBound].contains(" ") else { return nil }
            return (String(line[..<colon.lowerBound]), String(line[colon.upperBound...]))
        }
        return lines.count > 2 && entries.count == lines.count ? entries : nil
    }

    /// Paragraphs, with empty lines between them in the text.
    mutating func discussion(_ text: String, after hasText: Bool) {
        for (index, part) in text.split(separator: "\n\n").enumerated() {
            if index > 0 || hasText { paragraph() }
            body(String(part))
        }
    }

    private mutating func wrap(_ escaped: String) {
        var current = ""
        for word in escaped.split(separator: " ") {
            if !current.isEmpty && current.utf8.count + 1 + word.utf8.count > Self.width {
                line(current)
                current = ""
            }
            current += (current.isEmpty ? "" : " ") + word
        }
        if !current.isEmpty { line(current) }
    }

    private mutating func macro(_ name: String, _ arguments: [String]) {
        text += "." + name + arguments.map { " \"" + Self.escaped($0) + "\"" }.joined() + "\n"
    }

    /// A line that begins with a dot or a quote would be a request.
    private mutating func line(_ escaped: String) {
        text += (escaped.hasPrefix(".") ? "\\&" : "") + escaped + "\n"
    }

    /// Replaces the characters that roff would read as commands, or would print as characters that cannot be pasted.
    private static func escaped(_ text: some StringProtocol) -> String {
        text.reduce(into: "") { result, character in
            switch character {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "'": result += "\\(aq"
            case "`": result += "\\(ga"
            case "\"": result += "\\(dq"
            case "^": result += "\\(ha"
            case "~": result += "\\(ti"
            case _ where character.isASCII: result.append(character)
            default: for scalar in character.unicodeScalars { result += "\\[u\(hexadecimal(scalar))]" }
            }
        }
    }

    /// At least four digits, as roff wants them.
    private static func hexadecimal(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
