internal import VaultBase

/// A result that could not be written to standard output, for example because the disk is full.
struct OutputFailure: Error, CustomStringConvertible {
    /// The name of the error for programs.
    static let name = "outputUnwritten"

    let description: String

    /// - Parameters:
    ///   - errorNumber: the error of write(2).
    ///   - consequence: what follows for the person; empty for nothing.
    init(errorNumber: Int32, consequence: String = "") {
        let end = consequence.isEmpty ? "" : " \(consequence)"
        description = "The output could not be written: \(SystemError.words(errorNumber)).\(end)"
    }
}
