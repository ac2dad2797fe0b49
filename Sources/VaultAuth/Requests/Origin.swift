internal import Foundation
internal import HTTPTypes

/// Scheme, host and port of a URL (RFC 6454). A token may be sent only to allowed origins.
package struct Origin: Hashable {
    let scheme: String
    let host: String
    let port: Int

    /// Nil if the text has no scheme or host, or has a user name.
    package init?(_ url: String) {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(),
            let host = parts.host?.lowercased(), !host.isEmpty, parts.user == nil, parts.password == nil,
            let port = parts.port ?? ["https": 443, "http": 80][scheme]
        else { return nil }
        (self.scheme, self.host, self.port) = (scheme, host, port)
    }

    /// - Returns: nil, too, if the path could change the host, as `@elsewhere.example/` would.
    init?(of request: HTTPRequest) {
        guard request.path?.hasPrefix("/") ?? true,
            let authority = request.authority, !authority.contains(where: { "/?#@\\".contains($0) || $0.isWhitespace })
        else { return nil }
        self.init("\(request.scheme ?? "")://\(authority)")
    }

    var text: String { "\(scheme)://\(host):\(port)" }
}
