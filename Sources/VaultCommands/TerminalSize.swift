internal import Foundation

/// The size of a person's terminal.
struct TerminalSize {
    let columns: Int
    let rows: Int

    /// - Parameter descriptor: standard output or standard error.
    /// - Returns: nil if it is no terminal, or if the terminal does not tell its size.
    init?(of descriptor: Int32) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        (columns, rows) = (Int(size.ws_col), Int(size.ws_row))
    }
}

/// The characters that a person's terminal can show.
enum Charset {
    /// Whether the locale of the environment has UTF-8. Without a locale, only ASCII is sure.
    static var isUTF8: Bool {
        let environment = ProcessInfo.processInfo.environment
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        return ["UTF-8", "UTF8"].contains { locale.uppercased().contains($0) }
    }
}
