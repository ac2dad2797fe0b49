internal import ArgumentParser
internal import CredentialVault
internal import Foundation
internal import VaultBase

/// A server that gets the access token from a helper: a host, with a port if it is not the usual one. A token goes only
/// to `https:` addresses. Plain `http:` works only on this machine.
struct HelperHost: ExpressibleByArgument, Hashable {
    /// `host` or `host:port`, in lower case.
    let authority: String
    /// Whether the server speaks plain http.
    let isPlain: Bool

    /// - Parameter argument: `host`, `host:port`, `https://host`, or `http://127.0.0.1:port`.
    init?(argument: String) {
        let address = argument.contains("://") ? argument : "https://\(argument)"
        self.init(url: address)
        // A path would look like a limit, but it has no effect.
        let rest = address.drop { $0 != ":" }.dropFirst(3)
        if rest.hasSuffix("/") ? rest.dropLast().contains("/") : rest.contains("/") { return nil }
        if rest.contains("?") || rest.contains("#") { return nil }
    }

    /// - Parameter url: an http or https address. What follows the host is left out.
    init?(url: String) {
        guard url.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }),
            let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(),
            let host = parts.encodedHost?.lowercased(), !host.isEmpty, !host.contains("%"), parts.user == nil,
            parts.password == nil, ["https", "http"].contains(scheme)
        else { return nil }
        isPlain = scheme == "http"
        guard !isPlain || LoopbackAddress.isLoopback(host: host) else { return nil }
        // A port that is no number, or too great, would count as the usual one.
        let server = url.drop { $0 != ":" }.dropFirst(3).prefix { !"/?#".contains($0) }
        let rest = server.hasPrefix("[") ? server.drop { $0 != "]" } : server
        guard parts.port != nil || !rest.contains(":") else { return nil }
        let port = parts.port == (isPlain ? 80 : 443) ? nil : parts.port
        authority = host + (port.map { ":\($0)" } ?? "")
    }

    /// The address of the server, without a path.
    var url: String { "\(isPlain ? "http" : "https")://\(authority)" }

    /// The form that `--host` takes.
    var defaultValueDescription: String { isPlain ? url : authority }
}

/// `--host`, for helpers that answer only for some servers.
struct HostOption: ParsableArguments {
    @Option(
        name: .customLong("host"),
        help: ArgumentHelp(
            "A server that gets the token: host, host:port, or http://127.0.0.1:port on this machine. Can be repeated.",
            valueName: "host"))
    var hosts: [HelperHost] = []
}
