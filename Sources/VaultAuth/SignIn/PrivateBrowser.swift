internal import VaultStorage

/// A private window of the default browser. The sign-in leaves no session for the next person at this machine, and does
/// not see the session of the person before.
///
/// | browser | how |
/// |---|---|
/// | Firefox, LibreWolf, Waterfox, Floorp | `--private-window` |
/// | Chromium, Chrome, Brave, Vivaldi | `--incognito` |
/// | Edge | `--inprivate` |
/// | Opera, GNOME Web, qutebrowser | a new profile in a temporary folder. At the end of the sign-in the browser is closed and the folder is removed. If the person closes the browser, the sign-in ends. |
///
/// All private windows of a running browser share their sessions, so close the window after the sign-in. The address is
/// passed as an argument, and no shell reads it.
public struct PrivateBrowser: UserAgent {
    /// Makes a user agent. The default browser is looked up when an address is opened.
    public init() {}

    /// - Throws: ``VaultError`` with code `configurationInvalid` if the default browser cannot be found, is not in the
    ///   table, or does not start. Then nothing is open: show the address to the person. Code `cancelled` if the person
    ///   closed the browser.
    public func open(_ url: String) async throws {
        guard url.hasPrefix("https://") || url.hasPrefix("http://") else {
            throw VaultError(
                .configurationInvalid,
                "No browser was opened, because the address does not begin with https:// or http://.")
        }
        let browser = try await DefaultBrowser.find()
        switch browser.privacy {
        case .window(let option)?:
            // The process may go on, or pass the address to a running browser. Only an early failure counts.
            let process = BrowserProcess(browser.command + [option, url])
            guard [nil, 0].contains(await process.start(within: .seconds(3))) else { throw failure(browser) }
        case .profile(let options)?:
            try await open(url, in: browser, options)
        case nil:
            throw VaultError(
                .configurationInvalid,
                "This program cannot open a private window of the browser \(browser.name).",
                detail: .browserNotOpened)
        }
    }

    /// The time that the redirect may still take when the browser has ended: for an app's own scheme, the desktop starts
    /// another program.
    private static let timeOfRedirect = Duration.seconds(1)

    /// Waits until the person closes the browser, or until the sign-in has ended.
    private func open(_ url: String, in browser: DefaultBrowser, _ options: (String) -> [String]) async throws {
        let folder = try TemporaryProfile()
        let process = BrowserProcess(browser.command + options(folder.path) + [url])
        let early = await process.start(within: .seconds(3))
        if early == nil { _ = await process.end(within: nil) }
        await process.stop()
        await folder.remove()
        guard [nil, 0].contains(early) else { throw failure(browser) }
        try? await Task.sleep(for: Self.timeOfRedirect)
        guard !Task.isCancelled else { return }
        throw VaultError(.cancelled, "The browser was closed before the sign-in ended. Start the sign-in again.")
    }

    private func failure(_ browser: DefaultBrowser) -> VaultError {
        VaultError(
            .configurationInvalid,
            "The browser \(browser.name) did not start.", detail: .browserNotOpened)
    }
}
