import CredentialVault
import Foundation
import Testing
import VaultAuthTestSupport
import VaultTesting

@testable import OpenIDConnect
@testable import VaultAuth

/// Redirects that do not go to a port of this machine, and their clients.
@Suite struct HandedRedirectTests {
    private func context(_ redirects: AsyncStream<String>, redirectURI: String?) async throws -> SignInContext {
        let (store, clock, transport) = (InMemoryStore(), ManualClock(), Network())
        let settings = Auth.Settings(
            issuer: "https://login.example.com", clientID: nil, scopes: [], redirectURI: redirectURI)
        return SignInContext(
            settings: settings, transport: transport, listening: LoopbackListening(), clock: clock, store: store,
            appRedirects: redirects, layout: nil, issuers: [],
            provider: { client in
                Providers(usesDPoP: false, transport: transport, clock: clock)
                    .provider(issuer: "https://login.example.com", clientID: client.id, clientSecret: client.secret)
            })
    }

    @Test func `when a forged redirect reaches the app, then login continues`() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        for state in ["forged", "", "right"] { continuation.yield("myapp://callback?code=c&state=\(state)") }
        let receiver = try await context(stream, redirectURI: "myapp://callback").receiver(for: .automatic)
        let address = try await receiver.receive { address in
            guard address.hasSuffix("right") else { throw OpenIDConnectError(.stateMismatch, "another") }
            return address
        }
        #expect(address == "myapp://callback?code=c&state=right")
    }

    @Test func `when no redirect comes, then login ends after five minutes`() async throws {
        let clock = ManualContinuousClock()
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        let receiver = HandedRedirectReceiver(redirectURI: "myapp://callback", clock: clock) { _ in
            clock.advance(by: .seconds(300))
            for await address in stream { return address }
            throw CancellationError()
        }
        let error = await failure { _ = try await receiver.receive { $0 } }
        continuation.finish()
        #expect(error?.code == .cancelled)
        #expect(error?.description == "The browser sent no answer within five minutes. Start the login again.")
    }

    @Test func `when a timely redirect is handled slowly, then login succeeds`() async throws {
        let clock = ManualContinuousClock()
        let receiver = HandedRedirectReceiver(redirectURI: "myapp://callback", clock: clock) { _ in "address" }
        let address = try await receiver.receive { address in
            clock.advance(by: .seconds(301))
            return address
        }
        #expect(address == "address")
    }

    @Test func `when the browser closes after the redirect, then login succeeds`() async throws {
        let (redeeming, redeem) = AsyncStream.makeStream(of: Never.self)
        let receiver = HandedRedirectReceiver(redirectURI: "myapp://callback") { _ in "address" }
        let browser = ClosedBrowser { for await _ in redeeming {} }
        let address = try await receiver.finish(opening: "https://login.example.com", with: browser) { address in
            redeem.finish()
            // Time for the browser to end, and for whoever would end this work because of that.
            for _ in 1...1000 { await Task.yield() }
            try Task.checkCancellation()
            return address
        }
        #expect(address == "address")
    }

    @Test func `when the browser closes before the redirect, then login ends`() async throws {
        let (redirects, continuation) = AsyncStream.makeStream(of: String.self)
        let receiver = HandedRedirectReceiver(redirectURI: "myapp://callback") { _ in
            for await address in redirects { return address }
            throw CancellationError()
        }
        let error = await failure {
            _ = try await receiver.finish(opening: "https://login.example.com", with: ClosedBrowser {}) { $0 }
        }
        #expect(error?.code == .cancelled && error?.description == "The browser was closed.")
        continuation.finish()
    }

    @Test func `when a redirect is pasted, then its port is random`() async throws {
        let context = try await context(AsyncStream { $0.finish() }, redirectURI: nil)
        var ports: Set<Int> = []
        for _ in 1...20 {
            let uri = try await context.receiver(for: .pasted { _ in "" }).redirectURI
            let port = try #require(URLComponents(string: uri)?.port)
            #expect((49_152...65_535).contains(port))
            ports.insert(port)
        }
        #expect(ports.count > 1)
        #expect(
            try await context.receiver(for: .pasted { _ in "" }, port: 8765).redirectURI
                == "http://127.0.0.1:8765/callback")
    }

    @Test(arguments: ["invalid_client", "unauthorized_client", "invalid_scope"])
    func `when a provider forgets a client, then its record goes`(word: String) async throws {
        let context = try await context(AsyncStream { $0.finish() }, redirectURI: nil)
        let record = LoginClient.Record(
            clientID: "known", redirectURI: "http://127.0.0.1:50000/callback", registeredAt: context.clock.now)
        let bytes = Array(try JSONEncoder().encode(record))
        let name = "client https://login.example.com"
        try await context.store.withRecord(name) { $0 = bytes }
        func refuse(_ id: String) async throws {
            await #expect(throws: OpenIDConnectError.self) {
                try await context.using(LoginClient(id: id)) {
                    throw OpenIDConnectError(.refused, "HTTP 401", providerError: word)
                }
            }
        }
        try await refuse("another")
        let kept = try await context.store.withRecord(name) { $0 }
        #expect(kept == bytes)
        try await refuse("known")
        let left = try await context.store.withRecord(name) { $0 }
        #expect(left == (word == "invalid_scope" ? bytes : nil))
    }
}

/// A browser that the person closes.
private struct ClosedBrowser: UserAgent {
    /// Returns when the person closes it.
    let isClosed: @Sendable () async -> Void

    func open(_ url: String) async throws {
        await isClosed()
        throw VaultError(.cancelled, "The browser was closed.")
    }
}
