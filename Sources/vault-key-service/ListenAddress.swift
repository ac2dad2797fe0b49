internal import VaultBase

/// The address of `--listen`: `127.0.0.1:8787`, `localhost:0` or `[::1]:8787`.
struct ListenAddress {
    let host: String
    let port: Int

    init(_ text: String) throws {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65535).contains(port)
        else { throw Failure.configuration("\"\(text)\" is not of the form HOST:PORT.") }
        var host = String(text[..<colon])
        if host.hasPrefix("[") && host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
        } else if host.isEmpty || host.contains(":") {
            throw Failure.configuration(
                "\"\(text)\" is not of the form HOST:PORT. Write an IPv6 address in brackets, such as [::1]:8787.")
        }
        self.host = host
        self.port = port
    }

    /// Whether only processes of this machine can connect.
    var isLoopback: Bool { LoopbackAddress.isLoopback(host: host) }
}
