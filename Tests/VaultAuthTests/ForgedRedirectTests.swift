import CredentialVault
import Foundation
import HTTPTypes
import Testing
import VaultAuthTestSupport
import VaultBase
import VaultDevelopment
import VaultTesting

@testable import VaultAuth

/// Redirects that do not answer the running login. Anybody on this machine can send them to a port or by a scheme. The
/// login goes on.
@Suite struct ForgedRedirectTests {
    private static let uri = BesetApp.redirectURI
    private static let wrong = [
        "\(uri)?", "\(uri)?%zz", "\(uri)?code=c&state=forged", "\(uri)?code=c", "\(uri)?error=server_error",
        "\(uri)?error=access_denied",
    ]

    @Test(arguments: BesetApp.malformed + wrong)
    func `when a provider login gets forged redirects, then it succeeds`(forged: String) async throws {
        var options = DevelopmentIdentityProvider.Options()
        options.redirectURIs = [Self.uri]
        try await withFixture(redirectURI: Self.uri, options: options) { fixture in
            let alice = ScriptedBrowser(username: "alice", password: "alice-password")
            let browser = BesetApp(auth: fixture.vault.auth, person: alice) { _ in forged }
            let token = try await fixture.vault.auth.performOpenIDConnectLogin(using: browser)
            #expect(token.account.subject == DevelopmentIdentityProvider.User.alice.subject)
            #expect(await fixture.provider.requests.filter { $0.endpoint == .token }.count == 1)
        }
    }

    @Test(arguments: [("state=", "state=x&state="), ("//callback?code=", "//elsewhere?code=x")])
    func `when a spoiled redirect comes first, then login succeeds`(part: String, replacement: String) async throws {
        var options = DevelopmentIdentityProvider.Options()
        options.redirectURIs = [Self.uri]
        try await withFixture(redirectURI: Self.uri, options: options) { fixture in
            let alice = ScriptedBrowser(username: "alice", password: "alice-password")
            let browser = BesetApp(auth: fixture.vault.auth, person: alice) {
                #expect($0.contains(part))
                return $0.replacing(part, with: replacement)
            }
            try await fixture.vault.auth.performOpenIDConnectLogin(using: browser)
            #expect(await fixture.provider.requests.filter { $0.endpoint == .token }.count == 1)
        }
    }

    @Test(arguments: [
        [], ["/callback?code=c&state=forged"],
        [
            "/callback", "/callback?%zz", "/callback?code=c", "/callback?error=access_denied",
            "/callback?state=a&state=b",
        ],
    ])
    func `when a listening login gets forged redirects, then it succeeds`(targets: [String]) async throws {
        for redirectURI in [nil, "http://localhost/callback"] {
            try await withFixture(redirectURI: redirectURI) { fixture in
                let alice = ScriptedBrowser(username: "alice", password: "alice-password")
                let browser = BesetBrowser(targets: targets, person: alice)
                try await fixture.vault.auth.signIn(BrowserSignIn(using: browser, opensAtOnce: false))
                let answers = browser.answers.withLock { $0 }
                #expect(answers.map(\.status.code) == targets.map { _ in 400 })
                #expect(answers.allSatisfy { String(decoding: $0.body, as: UTF8.self).contains("goes on waiting") })
                #expect(await fixture.provider.requests.filter { $0.endpoint == .token }.count == 1)
            }
        }
    }

    @Test func `when redirects are forged, then the wait is not lengthened`() async throws {
        let clock = ManualContinuousClock()
        let receiver = try await LoopbackReceiver(
            #require(LoopbackRedirect(nil)), LoopbackListening(), clock: clock)
        let forger = Task { try await BesetBrowser.get("\(receiver.redirectURI)?state=forged") }
        let error = await #expect(throws: RedirectListenerError.self) {
            try await receiver.receive { _ in
                clock.advance(by: .seconds(300))
                throw OpenIDConnectError(.stateMismatch, "another")
            }
        }
        #expect(error?.code == .timedOut)
        #expect(try await forger.value.status == 400)
        await receiver.stop()
    }
}

/// A browser on a machine where another program calls the redirect port first.
private final class BesetBrowser: UserAgent {
    let targets: [String]
    let person: ScriptedBrowser
    let answers = Lock<[HTTPAnswer]>([])

    init(targets: [String], person: ScriptedBrowser) {
        (self.targets, self.person) = (targets, person)
    }

    func open(_ url: String) async throws {
        let query = try #require(URLComponents(string: url)?.queryItems)
        let redirectURI = try #require(query.first { $0.name == "redirect_uri" }?.value)
        for target in targets {
            let answer = try await Self.get(redirectURI.replacing("/callback", with: target))
            answers.withLock { $0.append(answer) }
        }
        try await person.open(url)
    }

    static func get(_ url: String) async throws -> HTTPAnswer {
        let parts = try #require(url.wholeMatch(of: /http:\/\/([^\/]+)(\/.*)/))
        let request = HTTPRequest(
            method: .get, scheme: "http", authority: String(parts.1), path: String(parts.2))
        return try await AsyncHTTPTransport().send(request, body: [], limits: HTTPLimits())
    }
}
