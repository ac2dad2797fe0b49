internal import ArgumentParser

/// `HOST:PORT`, an address of this machine alone.
struct LoopbackAddress: Codable, Sendable, CustomStringConvertible {
    /// Without brackets.
    var host = "127.0.0.1"
    /// 0 picks a free one.
    var port = 0

    init() {}

    /// - Throws: `ValidationError` if the text is not an address of this machine alone.
    init(_ text: String) throws {
        let colon = text.lastIndex(of: ":") ?? text.startIndex
        let digits = text[colon...].dropFirst()
        guard ["127.0.0.1", "localhost", "[::1]"].contains(text[..<colon]),
            digits.allSatisfy({ $0.isASCII && $0.isNumber }), let port = UInt16(digits)
        else {
            throw ValidationError(
                "\"\(text)\" is not an address of this machine alone. Use 127.0.0.1:PORT, [::1]:PORT or localhost:PORT."
            )
        }
        host = text[..<colon] == "[::1]" ? "::1" : String(text[..<colon])
        self.port = Int(port)
    }

    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// The addresses of the servers.
struct Addresses: Codable, Sendable {
    var provider = LoopbackAddress()
    var keyService = LoopbackAddress()
    /// nil until somebody starts a backend.
    var backend: LoopbackAddress?
}
