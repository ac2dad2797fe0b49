internal import OpenIDConnect
public import VaultBase
public import VaultHTTP
public import VaultStorage

/// One way to sign in: in the browser, by device code, with a password at a backend, … The steps after the sign-in are
/// the same for all.
///
/// A conformer must not store anything of the account: its caller seals and stores the result. It must not keep
/// passwords or tokens. It must return when its task is cancelled. It must have checked the owner of the tokens.
public protocol SignIn: Sendable {
    /// Signs in.
    ///
    /// - Throws: ``VaultError``, ``OpenIDConnectError``, or an error of a closure or seam that it was given.
    func run(in context: SignInContext) async throws -> SignInResult
}

/// The tools and settings for a sign-in.
public struct SignInContext: Sendable {
    /// The settings of the login.
    public let settings: Auth.Settings
    /// The transport for calls to a backend.
    public let transport: any HTTPTransport
    /// Opens a port for the browser's redirect.
    public let listening: any RedirectListening
    /// The time of day.
    public let clock: any WallClock
    /// The store for records that outlive the program: registered clients, failed attempts.
    public let store: any SecureStore
    /// The redirect URLs that the app passed to ``Auth/handleRedirect(url:)``.
    public let appRedirects: AsyncStream<String>
    /// The stored layout of an account that signs in again; nil for a new account. See ``IssuerKind/layout(of:)``.
    public let layout: StoredLayout?
    /// The kinds of servers other than OpenID providers.
    public let issuers: [any IssuerKind]
    /// Returns the provider of the settings for a client.
    let provider: @Sendable (LoginClient) -> OpenIDProvider
}
