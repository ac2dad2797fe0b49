internal import VaultStorage

/// A private window of the browser that the desktop opens links with: who signs in there leaves no session for the next
/// person at this machine, and meets none of the person before.
///
/// | browser | how |
/// |---|---|
/// | Firefox, LibreWolf, Waterfox, Floorp | `--private-window` |
/// | Chromium, Chrome, Brave, Vivaldi | `--incognito` |
/// | Edge | `--inprivate` |
/// | Opera, GNOME Web, qutebrowser | a new profile in a temporary folder. Browser and folder go when the sign-in ends. |
///
/// All private windows of one running browser share their sessions: close the window after the sign-in. The address is
/// handed over as an argument, and no shell reads it.
public struct PrivateBrowser: UserAgent {
    /// Makes a user agent. The default browser is looked up when an address is opened.
    public init() {}

    /// - Throws: ``VaultError`` with code `configurationInvalid` when the default browser cannot be found, is not one of
    ///   the table, or does not start. Nothing is open then.
    public func open(_ url: String) async throws {
        guard url.hasPrefix("https://") || url.hasPrefix("http://") else {
            throw VaultError(
                .configurationInvalid, "The address does not begin with https:// or http://, so no browser was opened.")
        }
        let browser = try await DefaultBrowser.find()
        switch browser.privacy {
        case .window(let option)?:
            // It may stay, or hand the address to one that runs already: only an early failure is one.
            let process = BrowserProcess(browser.command + [option, url])
            guard [nil, 0].contains(await process.start(within: .seconds(3))) else { throw failure(browser) }
        case .profile(let options)?:
            try await open(url, in: browser, options)
        case nil:
            throw VaultError(
                .configurationInvalid,
                "This program cannot open a private window of the browser \(browser.name). Open one yourself: vault register --no-browser"
            )
        }
    }

    /// Stays until the person closes the browser, or the sign-in has ended.
    private func open(_ url: String, in browser: DefaultBrowser, _ options: (String) -> [String]) async throws {
        let folder = try TemporaryProfile()
        let process = BrowserProcess(browser.command + options(folder.path) + [url])
        let status = await process.start(within: nil)
        await process.stop()
        await folder.remove()
        guard [nil, 0].contains(status) else { throw failure(browser) }
    }

    private func failure(_ browser: DefaultBrowser) -> VaultError {
        VaultError(
            .configurationInvalid,
            "The browser \(browser.name) did not start. To open the address yourself: vault register --no-browser")
    }
}
