public import VaultHTTP
internal import VaultStorage

/// Shows the identity provider's login to the person. On a desktop that is the system's browser.
///
/// A conformer must not follow or fetch the URL itself unless it plays the person's part in a test, must not keep it,
/// and may return before the person has logged in: the answer comes by another way. It must return when its task is
/// cancelled.
public protocol UserAgent: Sendable {
    /// Shows `url` to the person.
    ///
    /// - Throws: when it cannot be shown; the login then ends with that error.
    func open(_ url: String) async throws

    /// Tells the person that a connection to the port of the sign-in was refused. The sign-in goes on waiting. Without
    /// an implementation nothing happens.
    func connectionWasRefused(_ connection: RefusedConnection) async
}

extension UserAgent {
    /// Does nothing: for a user agent that does not show refused connections.
    public func connectionWasRefused(_ connection: RefusedConnection) async {}
}

/// The browser that the desktop opens links with, by `xdg-open`.
public struct SystemBrowser: UserAgent {
    /// Makes a user agent. Nothing is started yet.
    public init() {}

    /// - Throws: ``VaultError`` with code `configurationInvalid` when no browser could be started.
    public func open(_ url: String) async throws {
        // It may stay for as long as the browser that it started: only an early failure is one.
        guard let opener = BrowserProcess.path(of: "xdg-open"),
            [nil, 0].contains(await BrowserProcess([opener, url]).start(within: .seconds(3)))
        else { throw VaultError(.configurationInvalid, "No browser could be opened.") }
    }
}
