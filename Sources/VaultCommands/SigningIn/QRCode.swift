internal import CQRCode
internal import VaultBase

extension LibQRencode {
    /// Opens libqrencode.
    ///
    /// - Throws: ``MissingLibrary`` if it is not installed.
    static func open() throws(MissingLibrary) -> LibQRencode {
        try SharedLibrary(["libqrencode.so.4"], packages: ["libqrencode4"]).functions(LibQRencode_find)
    }
}

/// A QR code as text, two modules to a character.
struct QRCode {
    /// How many columns of the terminal it takes.
    let columns: Int
    /// The modules with the quiet zone around them that scanners need (ISO/IEC 18004: four modules).
    private let isDark: [[Bool]]

    private static let quietZone = 4

    /// - Returns: nil when it is too long for a code.
    init?(_ text: String, _ library: LibQRencode) {
        // The lowest level of error correction makes the smallest code: a screen has no scratches.
        guard let code = library.QRcode_encodeString8bit(text, 0, QR_ECLEVEL_L) else { return nil }
        defer { library.QRcode_free(code) }
        let width = Int(code.pointee.width)
        guard width > 0, let modules = code.pointee.data else { return nil }
        let margin = [Bool](repeating: false, count: Self.quietZone)
        let blank = [Bool](repeating: false, count: width + 2 * Self.quietZone)
        let rows = (0..<width).map { row in
            margin + (0..<width).map { modules[row * width + $0] & 1 == 1 } + margin
        }
        let quietRows = [[Bool]](repeating: blank, count: Self.quietZone)
        isDark = quietRows + rows + quietRows
        columns = blank.count
    }

    /// The lines to print.
    ///
    /// - Parameter hasColors: whether to print colours. Without colours, the code is right on a dark background and
    ///   inverted on a light one. Most scanners read both.
    func lines(hasColors: Bool) -> [String] {
        stride(from: 0, to: isDark.count, by: 2).map { row in
            let lower = row + 1 < isDark.count ? isDark[row + 1] : nil
            let characters = isDark[row].indices.map { column in
                // With colours, the ink of a character is dark. Without colours, the ink is light on a dark screen.
                let top = isDark[row][column] == hasColors
                let bottom = lower.map { $0[column] == hasColors } ?? false
                return top ? (bottom ? "█" : "▀") : (bottom ? "▄" : " ")
            }
            // Of the 256 colours, themes change only the first sixteen: 16 is black and 231 white.
            return hasColors
                ? "\u{1B}[38;5;16;48;5;231m\(characters.joined())\u{1B}[0m" : characters.joined()
        }
    }
}
