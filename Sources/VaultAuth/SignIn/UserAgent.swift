public import VaultHTTP
internal import VaultStorage

/// Shows the identity provider's login to the person, on a desktop in the system's browser.
///
/// A conformer must not fetch the URL itself, except in a test that plays the person. It must not keep the URL. It may
/// return before the person has logged in, because the answer comes another way. It must return when its task is
/// cancelled.
public protocol UserAgent: Sendable {
    /// Shows `url` to the person.
    ///
    /// - Throws: if the URL cannot be shown, or ``VaultError`` with code `cancelled` if the person closed the window. The
    ///   login then ends with that error, unless its redirect has come.
    func open(_ url: String) async throws

    /// Tells the person that a connection to the port of the sign-in was refused. The sign-in goes on. The default
    /// implementation does nothing.
    func connectionWasRefused(_ connection: RefusedConnection) async
}

extension UserAgent {
    /// Does nothing, for a user agent that does not show refused connections.
    public func connectionWasRefused(_ connection: RefusedConnection) async {}
}

/// The default browser of the desktop, through `xdg-open`.
public struct SystemBrowser: UserAgent {
    /// Makes a user agent. Nothing is started yet.
    public init() {}

    /// - Throws: ``VaultError`` with code `configurationInvalid` if no browser could be started: show the address to
    ///   the person.
    public func open(_ url: String) async throws {
        // The process may run as long as the browser. Only an early failure counts.
        guard let opener = BrowserProcess.path(of: "xdg-open"),
            [nil, 0].contains(await BrowserProcess([opener, url]).start(within: .seconds(3)))
        else { throw VaultError(.configurationInvalid, "No browser could be opened.") }
    }
}
