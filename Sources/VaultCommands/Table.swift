/// A table for people. The first row has the titles.
struct Table {
    let rows: [[String]]

    /// The lines of the table. If it is wider than the terminal, each row becomes a block of lines, so that the terminal
    /// breaks no word.
    ///
    /// - Parameter columns: the columns of the terminal; nil for no limit.
    func lines(columns: Int? = nil) -> [String] {
        let titles = rows.first ?? []
        let widths = titles.indices.dropLast().map { column in rows.map { $0[column].count }.max() ?? 0 }
        let lines = rows.map { row in
            let cells = zip(row, widths).map { $0.padded(to: $1) }
            return (cells + Array(row.suffix(1))).joined(separator: "  ")
        }
        guard let columns, lines.contains(where: { $0.count > columns }) else { return lines }
        let width = (titles.map(\.count).max() ?? 0) + 2
        let blocks = rows.dropFirst().map { row in
            zip(titles, row).flatMap { LabelledText(label: $0, text: $1, width: width).lines(columns: columns) }
        }
        return Array(blocks.joined(separator: [""]))
    }
}

/// A text for people, with a label before it.
struct LabelledText {
    let label: String
    let text: String
    /// The place of the text, in characters from the left.
    let width: Int

    /// The lines of the text. It is broken between words, and each line begins below the first one.
    ///
    /// - Parameter columns: the columns of the terminal; nil for one line.
    func lines(columns: Int? = nil) -> [String] {
        let parts = text.wrapped(to: columns.map { max(20, $0 - width) })
        let start = label.count < width || label.hasSuffix(" ") ? label.padded(to: width) : label + " "
        let margin = String(repeating: " ", count: width)
        return [start + (parts.first ?? "")] + parts.dropFirst().map { margin + $0 }
    }
}

extension String {
    /// The text, filled with spaces up to `width` characters.
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }

    /// The lines of the text, broken between words. A word that is longer than a line stays whole.
    ///
    /// - Parameter width: the longest line, in characters; nil for one line.
    func wrapped(to width: Int?) -> [String] {
        guard let width, count > width else { return [self] }
        var lines: [String] = []
        for word in split(separator: " ") {
            if let last = lines.last, last.count + 1 + word.count <= width {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }
}
