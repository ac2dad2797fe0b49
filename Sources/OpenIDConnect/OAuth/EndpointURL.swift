internal import FoundationEssentials
internal import VaultBase

/// The rule for every URL of a provider.
package enum EndpointURL {
    /// Whether `text` is an absolute `https:` URL, or `http:` to this machine, without user, password and fragment.
    ///
    /// - Parameter insecureOrigin: the origin that may also be called by plain `http`; nil for none.
    package static func isAllowed(_ text: String, insecureOrigin: String? = nil) -> Bool {
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), text.utf8.count <= 2048,
            let url = URL(string: text), let host = url.host, !host.isEmpty, url.user == nil, url.password == nil,
            url.fragment == nil, let scheme = url.scheme?.lowercased()
        else { return false }
        if scheme == "https" { return true }
        return scheme == "http" && (LoopbackAddress.isLoopback(host: host) || origin(of: text) == insecureOrigin)
    }

    /// Whether a provider may publish `text` as its address. A provider with `https` may use no other scheme. Plain
    /// `http` to this machine could reach another program.
    ///
    /// - Parameter insecureOrigin: as for ``isAllowed(_:insecureOrigin:)``.
    package static func isAllowed(_ text: String, by issuer: String, insecureOrigin: String? = nil) -> Bool {
        isAllowed(text, insecureOrigin: insecureOrigin)
            && (split(text).scheme == "https" || split(issuer).scheme != "https")
    }

    /// Splits an allowed URL into scheme, authority, and path with query.
    package static func split(_ url: String) -> (scheme: String, authority: String, path: String) {
        let schemeAndRest = url.split(separator: ":", maxSplits: 1)
        let rest = schemeAndRest.count == 2 ? schemeAndRest[1].drop { $0 == "/" } : ""
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let path = rest[authority.endIndex...]
        return (
            schemeAndRest.first?.lowercased() ?? "", String(authority), path.hasPrefix("/") ? String(path) : "/" + path
        )
    }

    /// Returns the origin of an allowed URL (RFC 6454): scheme, host and port in lower case. The usual port is left
    /// out.
    package static func origin(of url: String) -> String {
        let parts = split(url)
        var authority = parts.authority.lowercased()
        let usualPort = parts.scheme == "https" ? ":443" : ":80"
        if authority.hasSuffix(usualPort) { authority.removeLast(usualPort.count) }
        if authority.hasSuffix(":") { authority.removeLast() }
        return "\(parts.scheme)://\(authority)"
    }

    /// Adds parameters to a URL, and keeps the query that it has (RFC 6749 section 3.1).
    package static func adding(_ parameters: [(name: String, value: String)], to url: String) -> String {
        let separator = !url.contains("?") ? "?" : url.hasSuffix("?") || url.hasSuffix("&") ? "" : "&"
        return url + separator + FormParameters.encode(parameters)
    }

    /// Whether the browser can be sent back to `redirectURI`.
    static func isUsable(redirectURI: String) -> Bool {
        guard redirectURI.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let url = URL(string: redirectURI),
            let scheme = url.scheme?.lowercased(), url.fragment == nil
        else { return false }
        // Apps have their own schemes (RFC 8252 section 7.1).
        return scheme != "http" && scheme != "https" || isAllowed(redirectURI)
    }
}
