internal import FoundationEssentials

/// The base URL of an API, and the addresses below it.
package struct BaseURL: Sendable {
    let scheme: String
    /// Host and port, as in the text.
    let authority: String
    private let folder: String

    /// - Throws: ``HTTPError`` with code `forbiddenURL` if it is not an http or https URL, or has a user, query or
    ///   fragment.
    init(_ text: String) throws {
        guard let parts = Self.parts(text), parts.query == nil else {
            throw HTTPError(.forbiddenURL, authority: Self.withoutUser(text))
        }
        (scheme, authority) = (parts.scheme, parts.authority)
        folder = parts.path.hasSuffix("/") ? parts.path : parts.path + "/"
    }

    /// Returns path and query of a request.
    ///
    /// - Parameters:
    ///   - path: a path below this URL, or a whole URL of the same origin.
    ///   - query: parameters to add to those in the path.
    /// - Throws: ``HTTPError`` with code `outsideBaseURL` for another origin, a path with `..`, or forbidden
    ///   characters.
    func path(of path: String, query: KeyValuePairs<String, String>) throws -> String {
        var path = path
        if Self.isWhole(path) {
            guard let parts = Self.parts(path), parts.origin == Self.parts("\(scheme)://\(authority)")?.origin else {
                throw HTTPError(.outsideBaseURL, authority: authority)
            }
            path = parts.path + (parts.query.map { "?" + $0 } ?? "")
        } else {
            path = folder + path.drop { $0 == "/" }
        }
        guard Self.isPlain(path) else { throw HTTPError(.outsideBaseURL, authority: authority) }
        guard !query.isEmpty else { return path }
        let added = query.map { Self.encoded($0.key) + "=" + Self.encoded($0.value) }.joined(separator: "&")
        return path + (path.contains("?") ? "&" : "?") + added
    }

    /// Returns the text without user and password, for a message.
    package static func withoutUser(_ text: String) -> String {
        text.lastIndex(of: "@").map { String(text[text.index(after: $0)...]) } ?? text
    }

    private struct Parts {
        let scheme: String
        let authority: String
        let path: String
        let query: String?
        /// Scheme, host and port.
        let origin: [String]
    }

    private static func isWhole(_ text: String) -> Bool {
        text.firstRange(of: "://").map { !text[..<$0.lowerBound].contains { "/?#".contains($0) } } ?? false
    }

    private static func parts(_ text: String) -> Parts? {
        guard let url = URLComponents(string: text), let scheme = url.scheme?.lowercased(),
            let port = url.port ?? ["https": 443, "http": 80][scheme], ["https", "http"].contains(scheme),
            let host = url.encodedHost?.lowercased(), !host.isEmpty, url.user == nil, url.password == nil,
            url.fragment == nil
        else { return nil }
        let path = url.percentEncodedPath.isEmpty ? "/" : url.percentEncodedPath
        return Parts(
            scheme: scheme, authority: host + (url.port.map { ":\($0)" } ?? ""), path: path,
            query: url.percentEncodedQuery, origin: [scheme, host, String(port)])
    }

    /// Whether it stays below the folder, and all servers read it in the same way.
    private static func isPlain(_ path: String) -> Bool {
        guard path.utf8.allSatisfy({ isUnreserved($0) || "!$&'()*+,;=:@/?%".utf8.contains($0) }) else { return false }
        let read = path.prefix { $0 != "?" }.lowercased().replacing("%2e", with: ".").replacing("%2f", with: "/")
            .replacing("%5c", with: "/")
        // Some servers read "..;a" as "..".
        return !read.split(separator: "/").contains { [".", ".."].contains($0.prefix { $0 != ";" }) }
    }

    private static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            if isUnreserved(byte) { return String(UnicodeScalar(byte)) }
            let digits = String(byte, radix: 16, uppercase: true)
            return "%" + (digits.count == 1 ? "0" : "") + digits
        }.joined()
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~".utf8.contains(byte)
        }
    }
}
