/// A small HTML reader that finds a form, a title and an alert on a simple, well-formed page.
struct HTMLPage {
    struct Form {
        var action: String
        var hiddenInputs: [(String, String)] = []
        /// The visible inputs, with their values.
        var inputs: [String: String] = [:]
        var buttons: [(name: String, value: String)] = []
    }

    /// A start tag, and the start of the text after it.
    private struct Tag {
        var name: String
        var attributes: [String: String]
        var end: String.Index
    }

    private let text: String
    private let tags: [Tag]

    init(_ text: String) {
        self.text = text
        tags = Self.startTags(text)
    }

    /// The text of the `title` element; empty if there is none.
    var title: String { tags.first { $0.name == "title" }.map(content) ?? "" }

    /// The text of the first element with the role `alert`; empty if there is none.
    var alert: String { tags.first { $0.attributes["role"] == "alert" }.map(content) ?? "" }

    /// The first form.
    var form: Form? {
        var form: Form?
        for tag in tags {
            if tag.name == "form" {
                if form != nil { break }
                form = Form(action: tag.attributes["action"] ?? "")
            } else if let name = tag.attributes["name"] {
                let value = tag.attributes["value"] ?? ""
                switch (tag.name, tag.attributes["type"]) {
                case ("input", "hidden"): form?.hiddenInputs.append((name, value))
                case ("input", _): form?.inputs[name] = value
                case ("button", _): form?.buttons.append((name, value))
                default: break
                }
            }
        }
        return form
    }

    private func content(of tag: Tag) -> String { Self.unescaped(text[tag.end...].prefix { $0 != "<" }) }

    private static func startTags(_ text: String) -> [Tag] {
        var tags: [Tag] = []
        var rest = text[...]
        while let start = rest.firstIndex(of: "<") {
            rest = rest[start...].dropFirst()
            guard let first = rest.first, first.isLetter else { continue }
            let name = take(&rest) { $0.isLetter || $0.isNumber }
            var attributes: [String: String] = [:]
            while let next = rest.first, next != ">" {
                guard next.isLetter else {
                    rest = rest.dropFirst()
                    continue
                }
                let key = take(&rest) { $0.isLetter || $0 == "-" }
                var value = ""
                if rest.hasPrefix("=\"") {
                    rest = rest.dropFirst(2)
                    value = take(&rest) { $0 != "\"" }
                    rest = rest.dropFirst()
                }
                attributes[key.lowercased()] = unescaped(value[...])
            }
            rest = rest.dropFirst()
            tags.append(Tag(name: name.lowercased(), attributes: attributes, end: rest.startIndex))
        }
        return tags
    }

    private static func take(_ rest: inout Substring, while matches: (Character) -> Bool) -> String {
        let part = rest.prefix(while: matches)
        rest = rest[part.endIndex...]
        return String(part)
    }

    private static func unescaped(_ text: Substring) -> String {
        guard text.contains("&") else { return String(text) }
        let names = ["&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": "\"", "&#39;": "'"]
        var result = ""
        var rest = text
        while let character = rest.first {
            if character == "&", let match = names.first(where: { rest.hasPrefix($0.key) }) {
                result += match.value
                rest = rest.dropFirst(match.key.count)
            } else {
                result.append(character)
                rest = rest.dropFirst()
            }
        }
        return result
    }
}
