internal import OpenIDConnect
public import VaultHTTP
public import VaultStorage

/// One way to sign in: in the browser, by device code, with a password at a backend, … What comes after it is the same
/// for all of them.
///
/// A conformer must not store anything of the account: the result is stored, sealed, by whoever called it. It must not
/// keep passwords or tokens, must return when its task is cancelled, and must have checked whom the tokens belong to.
public protocol SignIn: Sendable {
    /// Signs in.
    ///
    /// - Throws: ``VaultError``, ``OpenIDConnectError``, or what a closure or seam that it was given throws.
    func run(in context: SignInContext) async throws -> RefreshToken
}

/// What a way in has to work with.
public struct SignInContext: Sendable {
    /// What the login needs to know.
    public let settings: Auth.Settings
    /// For calls to a backend.
    public let transport: any HTTPTransport
    /// Opens a port for the browser's redirect.
    public let listening: any RedirectListening
    /// The time of day.
    public let clock: any WallClock
    /// For records that outlive the program: registered clients, failed attempts.
    public let store: any SecureStore
    /// The redirect URLs that the app hands over with ``Auth/handleRedirect(url:)``.
    public let appRedirects: AsyncStream<String>
    /// What is stored with an account that signs in again; nil for a new one. See ``IssuerKind/layout(of:)``.
    public let layout: StoredLayout?
    /// The kinds of servers besides OpenID providers.
    public let issuers: [any IssuerKind]
    /// The provider of the settings as seen by a client.
    let provider: @Sendable (LoginClient) -> OpenIDProvider
}
