internal import ArgumentParser
internal import CredentialVault
internal import Foundation
internal import VaultBase

/// Results go to standard output, everything else to standard error.
///
/// A result that cannot be written does not stop the command, which may have changed something already. The command
/// then ends with the exit status of ``unwritten``.
enum Output {
    /// The error number of the first result that could not be written; nil if there was none.
    private static let failure = Lock<Int32?>(nil)

    /// The error of a result that could not be written; nil if everything was written, or if the reader has gone: it has
    /// what it wanted.
    static var unwritten: OutputFailure? {
        failure.withLock { $0 }.flatMap { $0 == EPIPE ? nil : OutputFailure(errorNumber: $0) }
    }

    /// Whether a person reads the results: standard output is a terminal, and no file, pipe or variable of a script.
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// A line of the result.
    static func line(_ text: String) { raw(Printable.lines(text)) }

    /// Writes a sentence, which fits into the terminal.
    static func sentence(_ text: String) { line(fitted(text)) }

    /// The text in lines that fit into the terminal. The second line and later ones are indented. A file or a pipe gets
    /// one line.
    private static func fitted(_ text: String) -> String {
        text.wrapped(to: TerminalSize(of: STDOUT_FILENO).map { max(20, $0.columns - 2) }).joined(separator: "\n  ")
    }

    /// Writes a text that says that all is well: in green, if the terminal has colours.
    static func good(_ text: LabelledText) {
        let text = text.lines(columns: TerminalSize(of: STDOUT_FILENO)?.columns).joined(separator: "\n")
        let environment = ProcessInfo.processInfo.environment
        let hasColors = isTerminal && environment["TERM"] != "dumb" && environment["NO_COLOR", default: ""].isEmpty
        raw(hasColors ? "\u{1B}[32m\(text)\u{1B}[0m" : text)
    }

    /// Writes a table, which fits into the terminal.
    static func table(_ table: Table) {
        for text in table.lines(columns: TerminalSize(of: STDOUT_FILENO)?.columns) { line(text) }
    }

    /// Writes texts with labels, which fit into the terminal.
    static func lines(_ texts: [LabelledText]) {
        let columns = TerminalSize(of: STDOUT_FILENO)?.columns
        for text in texts.flatMap({ $0.lines(columns: columns) }) { line(text) }
    }

    /// Writes a line that must not get lost, also if its reader has gone.
    ///
    /// - Throws: ``OutputFailure``
    static func importantLine(_ text: String) throws { try important(Printable.lines(text)) }

    /// Like ``json(_:)``, for a result that must not get lost.
    static func importantJSON(_ value: some Encodable) throws { try important(encodedWithNotices(value)) }

    private static func important(_ text: String) throws {
        raw(text)
        guard let number = failure.withLock({ $0 }) else { return }
        throw OutputFailure(errorNumber: number, consequence: "No recovery code was changed.")
    }

    /// Writes a result for a program, unchanged.
    static func raw(_ text: String) { put(Array((text + "\n").utf8)) }

    /// Writes a piece of a result, unchanged.
    ///
    /// - Throws: ``OutputFailure``, or `ExitCode` if the reader has gone: then the command ends without a word.
    static func bytes(_ bytes: [UInt8]) throws {
        put(bytes)
        guard let number = failure.withLock({ $0 }) else { return }
        guard number != EPIPE else { throw ExitCode.success }
        throw OutputFailure(errorNumber: number, consequence: "The item was only partly written.")
    }

    private static func put(_ bytes: [UInt8]) {
        guard !write(bytes, to: STDOUT_FILENO) else { return }
        let number = errno
        failure.withLock { $0 = $0 ?? number }
    }

    /// Writes the result as JSON, in one piece.
    static func json(_ value: some Encodable) {
        raw(encodedWithNotices(value))
    }

    /// Writes a remark or an error for a person.
    static func note(_ text: String) {
        write(Printable.lines(text) + "\n", to: STDERR_FILENO)
    }

    /// Writes a remark before work that must not wait for its reader: leaves the remark out if a pipe is full, or if the
    /// terminal is stopped.
    static func noteWithoutWaiting(_ text: String) {
        var ready = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
        if poll(&ready, 1, 0) == 1 { note(text) }
    }

    /// Writes lines with escape sequences to a person's terminal.
    static func drawing(_ lines: [String]) {
        write(lines.joined(separator: "\n") + "\n", to: STDERR_FILENO)
    }

    /// Writes one line of JSON to a descriptor that another program reads.
    static func jsonLine(_ value: some Encodable, to descriptor: Int32) {
        write(encoded(value, isPretty: false) + "\n", to: descriptor)
    }

    /// Writes an error for a program: `{"error": …}` on standard error.
    static func error(_ error: some Encodable) {
        write(encodedWithNotices(["error": error]) + "\n", to: STDERR_FILENO)
    }

    /// Writes JSON for a program to standard error.
    static func report(_ value: some Encodable) {
        write(encoded(value) + "\n", to: STDERR_FILENO)
    }

    /// A list has no members for notices. They come after the list.
    private static func encodedWithNotices(_ value: some Encodable) -> String {
        let text = encoded(value)
        guard text.hasPrefix("{"), let report = Notices.take() else { return text }
        return encoded(NoticeReport.Beside(value: value, report: report))
    }

    private static func encoded(_ value: some Encodable, isPretty: Bool = true) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if isPretty { encoder.outputFormatting.insert(.prettyPrinted) }
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.dateEncodingStrategy = .iso8601
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    /// Writes everything, or gives up at an error.
    ///
    /// - Returns: whether everything was written. If not, `errno` has the reason.
    @discardableResult
    private static func write(_ text: String, to descriptor: Int32) -> Bool {
        write(Array(text.utf8), to: descriptor)
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var bytes = bytes[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            if count < 0 && errno == EAGAIN {
                // Another program made the terminal or the pipe non-blocking.
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
                continue
            }
            guard count > 0 else { return false }
            bytes = bytes.dropFirst(count)
        }
        return true
    }
}

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
