internal import CredentialVault
internal import Foundation

/// The lists that say which application opens what (`mimeapps.list`, freedesktop.org Association between MIME types and
/// applications).
///
/// An entry can be removed without knowing the old content of the list. The list then has its old bytes again, with the
/// changes that other programs made meanwhile.
enum DefaultApplications {
    private static let header = "[Default Applications]"

    /// `$XDG_CONFIG_HOME`.
    static var folder: String {
        (((Settings.path as NSString).deletingLastPathComponent) as NSString).deletingLastPathComponent
    }

    /// The list that counts for every desktop.
    static var mainList: String { "\(folder)/mimeapps.list" }

    /// Makes an application the first choice for a scheme.
    static func put(_ id: String, for scheme: String) throws {
        let key = "x-scheme-handler/\(scheme)"
        // The list of one desktop overrides the common list.
        let desktops = (ProcessInfo.processInfo.environment["XDG_CURRENT_DESKTOP"] ?? "").lowercased().split(
            separator: ":")
        for desktop in desktops {
            let path = "\(folder)/\(desktop)-mimeapps.list"
            guard let text = read(path), line(of: key, in: text.lines) != nil else { continue }
            try write(adding(id, to: key, in: text), to: path, id)
        }
        try write(adding(id, to: key, in: read(mainList) ?? Text(bytes: [])), to: mainList, id)
    }

    /// Removes an application from every list that can be changed.
    static func remove(_ id: String) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        where name.contains("mimeapps.list") {
            let path = "\(folder)/\(name)"
            if name.hasSuffix(".\(id)") { unlink(path) }  // the new version of a list, half written
            guard name.hasSuffix("mimeapps.list"), let text = read(path) else { continue }
            let rest = removing(id, from: text)
            if rest != text { try? write(rest, to: path, id) }
        }
    }

    // MARK: - The text

    private static func adding(_ id: String, to key: String, in text: Text) -> Text {
        var lines = text.lines
        if let index = line(of: key, in: lines) {
            // At the front: the first installed application counts.
            let (name, value) = parts(lines[index])
            lines[index] = "\(name)=\(id);\(value)"
        } else if let index = lines.firstIndex(where: isHeader) {
            lines.insert("\(key)=\(id)", at: index + 1)
        } else {
            // A new section at the top. There it does not matter how the list ends.
            return Text(lines: [remark(id), header, "\(key)=\(id)"] + lines)
        }
        // The section is from another sign-in. The last sign-in to end removes it.
        if let index = lines.indices.dropFirst().first(where: { isHeader(lines[$0]) && isRemark(lines[$0 - 1]) }) {
            lines.insert(remark(id), at: index)
        }
        return Text(lines: lines)
    }

    private static func removing(_ id: String, from text: Text) -> Text {
        var lines: [String] = text.lines.compactMap { line in
            let (name, value) = parts(line)
            guard name.hasPrefix("x-scheme-handler/"), value.contains(id) else { return line }
            // A line that `put` inserted has no semicolon after the id. A line that was there before has one.
            return value == id ? nil : "\(name)=\(value.replacing("\(id);", with: "").replacing(";\(id)", with: ""))"
        }
        if let index = lines.firstIndex(of: remark(id)) {
            lines.remove(at: index)
            let isOthers = index > 0 && isRemark(lines[index - 1]) || index < lines.count && isRemark(lines[index])
            let isUsed = index + 1 < lines.count && lines[index + 1].contains("=") && !lines[index + 1].hasPrefix("#")
            if !isOthers, !isUsed, index < lines.count, isHeader(lines[index]) { lines.remove(at: index) }
        }
        return Text(lines: lines)
    }

    private static func remark(_ id: String) -> String { "# \(id): for the time of a sign-in" }

    private static func isRemark(_ line: String) -> Bool { line.hasPrefix("# \(DesktopEntry.prefix)") }

    private static func isHeader(_ line: String) -> Bool {
        line.trimmingCharacters(in: .whitespacesAndNewlines) == header
    }

    private static func line(of key: String, in lines: [String]) -> Int? {
        var isInSection = false
        return lines.firstIndex { line in
            if line.hasPrefix("[") { isInSection = isHeader(line) }
            return isInSection && line.contains("=") && parts(line).name.trimmingCharacters(in: .whitespaces) == key
        }
    }

    private static func parts(_ line: String) -> (name: String, value: String) {
        let name = line.prefix { $0 != "=" }
        return (String(name), String(line.dropFirst(name.count + 1)))
    }

    /// The lines of a file. Each byte is one character, so that no byte is lost.
    private struct Text: Equatable {
        var lines: [String]

        init(lines: [String]) { self.lines = lines }

        init(bytes: [UInt8]) {
            lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { line in
                String(String.UnicodeScalarView(line.map { Unicode.Scalar($0) }))
            }
        }

        var bytes: [UInt8] {
            Array(
                lines.map { $0.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }
                    .joined(separator: [UInt8(ascii: "\n")]))
        }
    }

    // MARK: - The file

    private static func read(_ path: String) -> Text? {
        FileManager.default.contents(atPath: path).map { Text(bytes: Array($0)) }
    }

    private static func write(_ text: Text, to path: String, _ id: String) throws {
        guard ReplacedFile.write(text.bytes, to: path, suffix: id) else {
            throw SchemeHandler.failure("\(path) cannot be written")
        }
    }
}
