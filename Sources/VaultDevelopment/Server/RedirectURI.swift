/// The rules for redirect URIs of native apps (RFC 8252 section 7.3: any port on loopback).
enum RedirectURI {
    static func isAllowed(_ uri: String, besides exact: [String]) -> Bool {
        if exact.contains(uri) { return true }
        return path(of: uri, host: "http://127.0.0.1") == "/callback"
            || path(of: uri, host: "http://[::1]") == "/callback"
            || path(of: uri, host: "http://localhost").map(isPlainPath) ?? false
    }

    /// Whether a client may register the URI: loopback, `https:`, or a private scheme (RFC 8252 section 7).
    static func isRegistrable(_ uri: String) -> Bool {
        guard uri.utf8.allSatisfy({ (0x21...0x7e).contains($0) }), !uri.contains("#"),
            let scheme = uri.split(separator: ":", omittingEmptySubsequences: false).first?.lowercased(),
            uri.utf8.count > scheme.utf8.count + 1, scheme.first?.isLetter == true,
            scheme.allSatisfy({ $0.isLetter || $0.isNumber || "+-.".contains($0) })
        else { return false }
        if scheme == "http" { return withoutLoopbackPort(uri) != nil }
        return !["javascript", "data", "file", "about", "blob"].contains(scheme)
    }

    /// Whether `uri` is the registered one. On loopback, the port may differ (RFC 8252 section 7.3).
    static func matches(_ uri: String, registered: String) -> Bool {
        if uri == registered { return true }
        guard let plain = withoutLoopbackPort(uri) else { return false }
        return plain == withoutLoopbackPort(registered)
    }

    /// Returns a loopback URI without its port; nil for others.
    private static func withoutLoopbackPort(_ uri: String) -> String? {
        for host in ["http://127.0.0.1", "http://[::1]", "http://localhost"] {
            if let path = path(of: uri, host: host), isPlainPath(path) { return host + path }
        }
        return nil
    }

    /// Returns scheme and authority for a content security policy. A private scheme stands alone.
    static func origin(of uri: String) -> String {
        guard let schemeEnd = uri.firstIndex(of: ":") else { return "" }
        let afterScheme = uri[schemeEnd...].dropFirst()
        guard uri.hasPrefix("http"), afterScheme.hasPrefix("//") else { return "\(uri[..<schemeEnd]):" }
        let authority = afterScheme.dropFirst(2).prefix { !"/?#".contains($0) }
        return "\(uri[..<schemeEnd])://\(authority)"
    }

    /// Returns the URI with more parameters in its query.
    static func adding(_ parameters: [(String, String)], to uri: String) -> String {
        uri + (uri.contains("?") ? "&" : "?") + FormParameters.encoded(parameters)
    }

    /// Returns the part after `host` and port; nil for another host.
    private static func path(of uri: String, host: String) -> Substring? {
        guard uri.hasPrefix(host) else { return nil }
        var rest = uri.dropFirst(host.count)
        if rest.first == ":" {
            let port = rest.dropFirst().prefix { $0.isASCII && $0.isNumber }
            guard let number = Int(port), (1...65535).contains(number) else { return nil }
            rest = rest.dropFirst(1 + port.count)
        }
        return rest
    }

    private static func isPlainPath(_ path: Substring) -> Bool {
        path.first == "/" && path.utf8.allSatisfy { (0x21...0x7e).contains($0) && !##""#<>\^`{|}?"##.utf8.contains($0) }
    }
}
