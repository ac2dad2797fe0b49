/// The way an account signs in. It also decides how its tokens are renewed.
public struct SignInMethod: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
    /// The method as a word, as it is stored.
    public let rawValue: String
    /// Makes a method from its word. An app's own method needs an issuer for its accounts.
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// At an OpenID provider: in the browser, by device code, or by password grant. Also for tokens that the app sets
    /// itself.
    public static let openIDConnect = SignInMethod(rawValue: "openid-connect")
    /// In the browser, at a backend that hides the provider's protocol. The backend's access token is stored.
    public static let backend = SignInMethod(rawValue: "backend")
    /// With e-mail address and password, at a backend that issues refresh tokens.
    public static let passwordBackend = SignInMethod(rawValue: "password-backend")
    /// At a server whose OAuth was discovered.
    public static let serverOAuth = SignInMethod(rawValue: "server-oauth")
    /// At a server, with user name and password, in exchange for an API token. The API token is stored.
    public static let serverToken = SignInMethod(rawValue: "server-token")
}
