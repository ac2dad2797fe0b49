internal import CredentialVault
internal import Foundation

/// Results go to standard output, everything else to standard error.
enum Output {
    /// A line of the result.
    static func line(_ text: String) {
        write(Printable.lines(text) + "\n", to: STDOUT_FILENO)
    }

    /// A line that must not get lost.
    ///
    /// - Throws: `VaultError` with code `cancelled` when nobody reads it.
    static func importantLine(_ text: String) throws {
        guard write(Printable.lines(text) + "\n", to: STDOUT_FILENO) else { throw unread }
    }

    /// As ``json(_:)``, for what must not get lost.
    static func importantJSON(_ value: some Encodable) throws {
        guard write(encodedWithNotices(value) + "\n", to: STDOUT_FILENO) else { throw unread }
    }

    private static var unread: VaultError {
        VaultError(.cancelled, "What was to be shown could not be written. No recovery code was changed.")
    }

    /// A result that is no text for a person, as it is.
    static func raw(_ text: String) {
        write(text + "\n", to: STDOUT_FILENO)
    }

    /// A piece of a result, as it is.
    ///
    /// - Throws: `VaultError` with code `cancelled` when nobody reads it.
    static func bytes(_ bytes: [UInt8]) throws {
        guard write(bytes, to: STDOUT_FILENO) else {
            throw VaultError(
                .cancelled, "The item was not written to its end: nobody reads it, or the disk is full.")
        }
    }

    /// The result as JSON, in one piece.
    static func json(_ value: some Encodable) {
        raw(encodedWithNotices(value))
    }

    /// A remark or an error for a person.
    static func note(_ text: String) {
        write(Printable.lines(text) + "\n", to: STDERR_FILENO)
    }

    /// Lines for a person's terminal that hold escape sequences on purpose.
    static func drawing(_ lines: [String]) {
        write(lines.joined(separator: "\n") + "\n", to: STDERR_FILENO)
    }

    /// One line of JSON for a program that reads a descriptor of its own.
    static func jsonLine(_ value: some Encodable, to descriptor: Int32) {
        write(encoded(value, isPretty: false) + "\n", to: descriptor)
    }

    /// An error for a program: `{"error": …}` on standard error.
    static func error(_ error: some Encodable) {
        write(encodedWithNotices(["error": error]) + "\n", to: STDERR_FILENO)
    }

    /// JSON for a program, on standard error.
    static func report(_ value: some Encodable) {
        write(encoded(value) + "\n", to: STDERR_FILENO)
    }

    /// A list has no room for notices: they come after it.
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

    /// Writes everything, or gives up when nobody reads any more.
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
