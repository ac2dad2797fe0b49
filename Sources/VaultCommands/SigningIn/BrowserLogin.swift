internal import CredentialVault
internal import Foundation

/// A sign-in in the browser, with the way back for its answer.
struct BrowserLogin: Sendable {
    let options: RedirectOptions
    /// Whether the browser opens a private window: see ``RedirectOptions/isPrivate(_:)``.
    let isPrivate: Bool
    let redirectURI: String?
    let status: StatusChannel
    let terminal: any Terminal
    let isQuiet: Bool

    /// - Parameter signIn: signs in with a browser and a way back.
    func run<R: Sendable>(
        _ vault: Vault, _ signIn: @escaping @Sendable (any UserAgent, RedirectDelivery) async throws -> R
    ) async throws -> R {
        // The temporary profile is removed in any case, also after Ctrl-C.
        guard isPrivate else { return try await receive(vault, signIn) }
        return try await Interruption.cancelling(within: .seconds(4)) { try await receive(vault, signIn) }
    }

    private func receive<R: Sendable>(
        _ vault: Vault, _ signIn: @escaping @Sendable (any UserAgent, RedirectDelivery) async throws -> R
    ) async throws -> R {
        if options.paste {
            let pasted = PastedRedirect(terminal: terminal, isQuiet: isQuiet, status: status)
            return try await signIn(pasted, .pasted { try await pasted.address($0) })
        }
        var browser = LoginBrowser(
            opens: options.opensBrowser, isPrivate: isPrivate, isQuiet: isQuiet, status: status)
        if !options.noBrowser && !browser.opens {
            let window = isPrivate ? " in a private window" : ""
            browser.remark =
                "There is no browser here. To use a browser on another machine, stop with Ctrl-C and \(Proposed.again(with: "--paste"))\nTo use one on this machine, open this address\(window):"
        }
        let agent = RedirectReminder(browser: browser, redirectURI: redirectURI, isQuiet: isQuiet)
        guard let redirectURI, URLComponents(string: redirectURI)?.scheme?.lowercased() != "http" else {
            return try await signIn(agent, .automatic)
        }
        let handler = try SchemeHandler(for: redirectURI) { url in
            guard let url = URL(string: url) else { return }
            Task { await vault.auth.handleRedirect(url: url) }
        }
        defer { handler.remove() }
        return try await signIn(agent, .automatic)
    }
}
