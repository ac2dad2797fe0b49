/// The exit statuses of a program, as its help and its man page show them.
package struct ExitStatuses: Sendable {
    /// Each status with its meaning, in the order in which they are shown.
    let meanings: [(status: Int32, meaning: String)]
    /// A remark after the list; empty for none.
    let remark: String

    /// - Parameters:
    ///   - meanings: each status with its meaning.
    ///   - remark: what comes after the list.
    package init(_ meanings: [(status: Int32, meaning: String)], remark: String = "") {
        self.meanings = meanings
        self.remark = remark
    }

    /// The paragraph of the help.
    package var paragraph: String {
        let list = meanings.map { "\($0.status) \($0.meaning)" }.joined(separator: ", ")
        return "Exit status: \(list)." + (remark.isEmpty ? "" : " \(remark)")
    }
}
