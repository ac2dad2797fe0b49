/// The addresses of a local network, the only ones for plain `http:` that a person allowed.
package enum LocalNetworkAddress {
    /// The last labels of names that no public DNS has: RFC 6762, RFC 8375, and the usual names of routers.
    private static let endings = [".local", ".lan", ".home", ".internal", ".home.arpa"]

    /// Whether `host` is a private IPv4 address (RFC 1918), a unique local IPv6 address (RFC 4193, brackets allowed), or
    /// a name without public DNS: a name without a dot, or one that ends in `.local`, `.lan`, `.home`, `.internal` or
    /// `.home.arpa`.
    ///
    /// Other spellings of numbers (`10.1`, `0xa.0.0.1`) are refused, as resolvers read them in different ways.
    package static func isLocal(host: String) -> Bool {
        let host = host.lowercased()
        if host.contains(":") { return isUniqueLocal(host) }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        // A name never ends in a number, so such a host is an address (RFC 1123 section 2.1).
        if let last = labels.last, last.hasPrefix("0x") || !last.isEmpty && last.allSatisfy(\.isNumber) {
            return isPrivate(labels)
        }
        guard labels.allSatisfy({ !$0.isEmpty }) else { return false }
        return labels.count == 1 || endings.contains { host.hasSuffix($0) }
    }

    private static func isPrivate(_ labels: [Substring]) -> Bool {
        let numbers = labels.compactMap(octet)
        guard labels.count == 4, numbers.count == 4 else { return false }
        return switch (numbers[0], numbers[1]) {
        case (10, _), (172, 16...31), (192, 168): true
        default: false
        }
    }

    /// A leading zero means octal to some resolvers.
    private static func octet(_ text: Substring) -> UInt8? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), text == "0" || text.first != "0" else { return nil }
        return UInt8(text)
    }

    /// The first group of fc00::/7 always has four digits.
    private static func isUniqueLocal(_ host: String) -> Bool {
        let group = host.drop { $0 == "[" }.prefix { $0 != ":" }
        return group.count == 4 && ["fc", "fd"].contains(group.prefix(2)) && group.allSatisfy(\.isHexDigit)
    }
}
