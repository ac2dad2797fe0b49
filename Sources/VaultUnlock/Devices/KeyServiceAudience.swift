/// The audience of the access tokens that a key service gets. Another key service does not accept a token for this one.
public struct KeyServiceAudience: Sendable, Hashable {
    private enum Kind: Hashable {
        case url
        case name(String)
        case any
    }

    private let kind: Kind

    /// The base URL of the key service, without a slash at its end.
    public static let keyServiceURL = KeyServiceAudience(kind: .url)

    /// Another name, for a provider that does not use the URL.
    public static func named(_ name: String) -> KeyServiceAudience { KeyServiceAudience(kind: .name(name)) }

    /// Any audience: the token of the login goes to the key service as it is. Somebody who runs the key service can use
    /// the token at other services until it expires. Use this only for providers that cannot make tokens for one
    /// service.
    public static let insecureAny = KeyServiceAudience(kind: .any)

    /// Returns the name of a key service in tokens; nil for any.
    package func name(of keyServiceURL: String) -> String? {
        switch kind {
        case .any: return nil
        case .name(let name): return name
        case .url:
            var url = keyServiceURL
            while url.hasSuffix("/") { url.removeLast() }
            return url
        }
    }
}
