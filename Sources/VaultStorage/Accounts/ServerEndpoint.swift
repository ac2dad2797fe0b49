internal import Foundation
internal import VaultBase

/// The base URL of a backend or server, in the one form that is stored and called.
///
/// A text without a scheme gets `https`. Plain `http` works only on this machine, and on the local network if the person
/// allowed it. The scheme and host become lower
/// case. The default port and extra slashes are removed. IP addresses get their usual form. The path is kept.
public struct ServerEndpoint: Hashable, Sendable, CustomStringConvertible {
    /// The URL, without a slash at its end.
    public let url: String
    /// Whether the server is on the local network and is called by plain `http`. Anybody in that network can read and
    /// change what is sent.
    public let isInsecure: Bool

    public var description: String { url }

    /// - Parameters:
    ///   - text: the typed text: `example.com`, `HTTPS://Example.com:443/notes/`, `127.0.0.1:8080`, `[::1]`, …
    ///   - allowsInsecureHTTP: whether the person allowed plain `http` to a server on the local network: a private
    ///     address, a name without a dot, or a name that ends in `.local`, `.lan`, `.home`, `.internal` or `.home.arpa`.
    /// - Throws: ``VaultError`` with code `configurationInvalid`. The text says what is wrong with the address. The
    ///   detail is `addressWrong`, or `plainHTTP` if only the permission is missing.
    public init(_ text: String, allowsInsecureHTTP: Bool = false) throws {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.isEmpty else { throw Self.invalid("it is empty.") }
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }) else {
            throw Self.invalid("it has characters that a URL cannot have. Write a name outside of ASCII as xn--….")
        }
        guard !text.contains(where: { "?#".contains($0) }) else { throw Self.invalid("it has a query or a fragment.") }
        let (scheme, rest) = try Self.scheme(of: text)
        let authority = rest.prefix { $0 != "/" }
        // The part before the @ could hold a password, which would be stored in the clear.
        guard !authority.contains("@") else { throw Self.invalid("it has a user name. Remove everything up to the @.") }
        let (host, port) = try Self.hostAndPort(authority)
        let isInsecure = scheme != "https" && !LoopbackAddress.isLoopback(host: host)
        if isInsecure {
            guard LocalNetworkAddress.isLocal(host: host) else {
                throw Self.invalid("it needs https. Plain http works only on this machine and on the local network.")
            }
            guard allowsInsecureHTTP else {
                throw Self.invalid("it needs https. Plain http works only on this machine.", detail: .plainHTTP)
            }
        }
        let segments = rest[authority.endIndex...].split(separator: "/")
        guard !segments.contains(where: { [".", ".."].contains($0.lowercased().replacing("%2e", with: ".")) }) else {
            throw Self.invalid("its path has a . or .. segment.")
        }
        let isDefault = port == (scheme == "https" ? 443 : 80)
        let portText = port.flatMap { isDefault ? nil : ":\($0)" } ?? ""
        let url = "\(scheme)://\(host)\(portText)" + segments.map { "/\($0)" }.joined()
        guard url.utf8.count <= 2048, URL(string: url)?.host?.isEmpty == false else {
            throw Self.invalid("it is not a URL.")
        }
        self.url = url
        self.isInsecure = isInsecure
    }

    /// Returns the URL of a path below it. No path leads to another scheme, host or port.
    package func url(_ path: String) -> String { path.hasPrefix("/") ? url + path : "\(url)/\(path)" }

    private static func invalid(_ reason: String, detail: VaultError.Detail = .addressWrong) -> VaultError {
        VaultError(.configurationInvalid, "The address of the server cannot be used: \(reason)", detail: detail)
    }

    private static func scheme(of text: String) throws -> (String, Substring) {
        for scheme in ["https", "http"] where text.lowercased().hasPrefix(scheme + ":") {
            return (scheme, text.dropFirst(scheme.count + 1).drop { $0 == "/" })
        }
        guard !text.contains("://") else { throw invalid("it needs https.") }
        return ("https", text.hasPrefix("//") ? text.drop { $0 == "/" } : text[...])
    }

    private static func hostAndPort(_ authority: Substring) throws -> (String, Int?) {
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            let inside = authority[..<end].dropFirst()
            guard let host = ipv6(inside) else { throw invalid("its IPv6 address is not valid.") }
            return ("[\(host)]", try port(authority[end...].dropFirst()))
        }
        // People type an IPv6 address without brackets if there is no port.
        if let host = ipv6(authority) { return ("[\(host)]", nil) }
        let name = authority.prefix { $0 != ":" }
        return (try host(name), try port(authority[name.endIndex...]))
    }

    private static func port(_ text: Substring) throws -> Int? {
        if text.isEmpty || text == ":" { return nil }
        guard text.first == ":", text.dropFirst().allSatisfy(\.isNumber), let port = Int(text.dropFirst()),
            (1...65535).contains(port)
        else { throw invalid("its port is not a number from 1 to 65535.") }
        return port
    }

    private static func host(_ name: Substring) throws -> String {
        var host = name.lowercased()
        if host.hasSuffix(".") { host.removeLast() }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        let isName = labels.allSatisfy { label in
            (1...63).contains(label.count) && label.allSatisfy { $0.isLetter || $0.isNumber || "-_".contains($0) }
        }
        guard isName, host.utf8.count <= 253, let last = labels.last else {
            throw invalid("its host name is not valid.")
        }
        // Resolvers read other spellings of numbers (127.1, 0x7f.0.0.1, 017700000001) differently.
        if last.allSatisfy(\.isNumber) || last.hasPrefix("0x") {
            let isAddress =
                labels.count == 4 && labels.allSatisfy { UInt8($0) != nil && ($0 == "0" || !$0.hasPrefix("0")) }
            guard isAddress else { throw invalid("its IPv4 address is not four numbers.") }
        }
        return host
    }

    /// Returns the usual form of an IPv6 address (RFC 5952), or nil if the text is not one.
    private static func ipv6(_ text: Substring) -> String? {
        var address = in6_addr()
        guard inet_pton(AF_INET6, String(text), &address) == 1 else { return nil }
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(AF_INET6, &address, &buffer, socklen_t(buffer.count)) != nil else { return nil }
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
