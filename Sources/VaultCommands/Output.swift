internal import CredentialVault
internal import Foundation

/// Results go to standard output, everything else to standard error.
enum Output {
    /// A line of the result.
    static func line(_ text: String) {
        write(Printable.lines(text) + "\n", to: STDOUT_FILENO)
    }

    /// Writes a line that must not get lost.
    ///
    /// - Throws: `VaultError` with code `cancelled` when nobody reads it.
    static func importantLine(_ text: String) throws {
        guard write(Printable.lines(text) + "\n", to: STDOUT_FILENO) else { throw unread }
    }

    /// Like ``json(_:)``, for a result that must not get lost.
    static func importantJSON(_ value: some Encodable) throws {
        guard write(encodedWithNotices(value) + "\n", to: STDOUT_FILENO) else { throw unread }
    }

    private static var unread: VaultError {
        VaultError(.cancelled, "The output could not be written. No recovery code was changed.")
    }

    /// Writes a result for a program, unchanged.
    static func raw(_ text: String) {
        write(text + "\n", to: STDOUT_FILENO)
    }

    /// Writes a piece of a result, unchanged.
    ///
    /// - Throws: `VaultError` with code `cancelled` when nobody reads it.
    static func bytes(_ bytes: [UInt8]) throws {
        guard write(bytes, to: STDOUT_FILENO) else {
            throw VaultError(
                .cancelled, "The item was only partly written. Its reader has ended, or the disk is full.")
        }
    }

    /// Writes the result as JSON, in one piece.
    static func json(_ value: some Encodable) {
        raw(encodedWithNotices(value))
    }

    /// Writes a remark or an error for a person.
    static func note(_ text: String) {
        write(Printable.lines(text) + "\n", to: STDERR_FILENO)
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

    /// Writes everything, or gives up when the reader has gone.
    ///
    /// - Returns: whether everything was written.
    @discardableResult
    private static func write(_ text: String, to descriptor: Int32) -> Bool {
        write(Array(text.utf8), to: descriptor)
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var bytes = bytes[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return false }
            bytes = bytes.dropFirst(count)
        }
        return true
    }
}
