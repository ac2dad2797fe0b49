/// The exit statuses of a program, as its help and its man page show them.
package struct ExitStatuses: Sendable {
    /// Each status with its meaning, in the order in which they are shown.
    let meanings: [(status: Int32, meaning: String)]
    /// A remark after the list; empty for none.
    let remark: String

    /// - Parameters:
    ///   - remark: a text after the list.
    package init(_ meanings: [(status: Int32, meaning: String)], remark: String = "") {
        self.meanings = meanings
        self.remark = remark
    }

    /// The text for the help.
    package var paragraphs: String {
        let list = meanings.map { status, meaning in
            let number = String(status)
            return String(repeating: " ", count: max(0, 5 - number.count)) + number + "  " + meaning
        }
        return (["Exit status:"] + list).joined(separator: "\n") + (remark.isEmpty ? "" : "\n\n" + remark)
    }
}
