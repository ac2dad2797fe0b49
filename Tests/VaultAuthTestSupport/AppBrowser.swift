internal import Foundation
package import VaultAuth
package import VaultDevelopment

/// A browser for an app with its own redirect URI. The system hands the redirect to the app.
package struct AppBrowser: UserAgent {
    private let auth: any AuthProtocol
    private let person: ScriptedBrowser
    private let change: @Sendable (String) -> String

    package init(
        auth: any AuthProtocol, person: ScriptedBrowser, change: @escaping @Sendable (String) -> String = { $0 }
    ) {
        (self.auth, self.person, self.change) = (auth, person, change)
    }

    package func open(_ url: String) async throws {
        let redirect = try await person.redirect(from: url)
        guard let url = URL(string: change(redirect)) else { throw CancellationError() }
        await auth.handleRedirect(url: url)
    }
}

/// A browser for an app with its own redirect URI, on a machine where the app gets a forged redirect first.
package struct BesetApp: UserAgent {
    /// The app's redirect URI.
    package static let redirectURI = "myapp://callback"
    /// Redirects that answer no login.
    package static let malformed = [
        "myapp:x", "myapp:?%zz", "myapp:?state=a&state=b", "myapp://callback", "myapp://callback?a=%C3",
        "myapp://callback?state=a&state=b", "myapp://callback#code=c", "other://callback?code=c&state=s",
        "myapp://callback?x=" + String(repeating: "x", count: 16 * 1024),
    ]

    private let auth: any AuthProtocol
    private let person: ScriptedBrowser
    private let forge: @Sendable (String) -> String

    package init(auth: any AuthProtocol, person: ScriptedBrowser, forge: @escaping @Sendable (String) -> String) {
        (self.auth, self.person, self.forge) = (auth, person, forge)
    }

    package func open(_ url: String) async throws {
        let redirect = try await person.redirect(from: url)
        for text in [forge(redirect), redirect] {
            guard let url = URL(string: text) else { throw CancellationError() }
            await auth.handleRedirect(url: url)
        }
    }
}
