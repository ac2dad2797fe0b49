/// The addresses of this machine. Plain `http:` to them needs no permission; for others, see ``LocalNetworkAddress``.
package enum LoopbackAddress {
    /// Whether `host` is `localhost`, `::1` (brackets allowed) or in 127.0.0.0/8 as four decimal numbers.
    ///
    /// Other spellings (`0x7f.1`, `127.1`, `::ffff:127.0.0.1`) are refused, as resolvers read them in different ways.
    package static func isLoopback(host: String) -> Bool {
        let host = host.lowercased()
        if host == "localhost" || host == "::1" || host == "[::1]" { return true }
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy(isOctet)
    }

    private static func isOctet(_ text: Substring) -> Bool {
        guard (1...3).contains(text.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return false }
        // A leading zero means octal to some resolvers.
        return (text == "0" || text.first != "0") && UInt8(text) != nil
    }
}
