internal import CredentialVault
internal import Foundation

/// Shows the login as another user agent does. If no answer comes, it tells the person what to check: many providers
/// show an error in the browser, and send nothing back, if the client does not allow the redirect URI.
struct RedirectReminder: UserAgent {
    let browser: any UserAgent
    /// The redirect URI of the settings; nil for any port of this machine.
    let redirectURI: String?
    let isQuiet: Bool

    func connectionWasRefused(_ connection: RefusedConnection) async {
        await browser.connectionWasRefused(connection)
    }

    func open(_ url: String) async throws {
        async let reminder: Void = remind(of: url)
        try await browser.open(url)
        await reminder
    }

    /// Waits, and then tells the person. When the answer comes, the login cancels this task.
    private func remind(of url: String) async {
        // A pushed request (RFC 9126) has no redirect URI in its address: the provider has checked it already.
        let items = URLComponents(string: url)?.queryItems ?? []
        guard !isQuiet, let uri = items.first(where: { $0.name == "redirect_uri" })?.value,
            (try? await Task.sleep(for: Self.delay)) != nil
        else { return }
        Output.note("The browser has sent no answer yet. If its page shows an error, check the client at the provider.")
        if isExact {
            Output.note("The client must allow exactly this redirect URI: \(uri)")
            Output.note("To use another one: vault config set redirect-uri URI")
        } else {
            Output.note("The client must allow this redirect URI, with any port: \(uri)")
            Output.note(
                "If the provider wants one exact address: vault config set redirect-uri http://127.0.0.1:8765/callback")
        }
    }

    /// Whether each sign-in uses the same address.
    private var isExact: Bool {
        guard let parts = redirectURI.flatMap({ URLComponents(string: $0) }) else { return false }
        return parts.port != nil || parts.scheme?.lowercased() != "http"
    }

    /// The time that a person usually needs to see the page.
    private static var delay: Duration {
        #if DEBUG || TEST_HOOKS
            // A test need not wait. A release build has no such variable.
            let seconds = ProcessInfo.processInfo.environment["CREDENTIAL_VAULT_REMINDER_SECONDS"]
            if let seconds = seconds.flatMap({ Int($0) }) { return .seconds(seconds) }
        #endif
        return .seconds(20)
    }
}
