/// How an account signs in, and so what renews its tokens.
public struct SignInMethod: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
    /// The method as a word, as it is stored.
    public let rawValue: String
    /// Makes a method from its word. An app's own method needs an issuer for its accounts.
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// At an OpenID provider: in the browser, by device code, or by its password grant. Tokens set from outside, too.
    public static let openIDConnect = SignInMethod(rawValue: "openid-connect")
    /// In the browser, at a backend that keeps the provider's protocol to itself. Its access token is what is stored.
    public static let backend = SignInMethod(rawValue: "backend")
    /// With e-mail address and password at a backend that issues refresh tokens.
    public static let passwordBackend = SignInMethod(rawValue: "password-backend")
    /// At a server that was found to have OAuth.
    public static let serverOAuth = SignInMethod(rawValue: "server-oauth")
    /// At a server, with user name and password for an API token, which is what is stored.
    public static let serverToken = SignInMethod(rawValue: "server-token")
}
