import CredentialVault
import Testing

@testable import VaultAuth

/// A browser that fails or is closed before, during and after the work with its redirect.
@Suite struct OpenedBrowserTests {
    private let closed = VaultError(.cancelled, "The browser was closed.")

    @Test func `when no redirect came, then a closed browser counts`() {
        #expect(OpenedBrowser().endsSignIn(after: closed))
    }

    @Test func `when a redirect came, then a closed browser changes nothing`() async throws {
        let browser = OpenedBrowser()
        let result = try await browser.redeem {
            #expect(!browser.endsSignIn(after: closed))
            return "tokens"
        }
        #expect(result == "tokens")
    }

    @Test func `when the redirect was forged, then the closed browser counts`() async throws {
        let browser = OpenedBrowser()
        let error = await failure {
            _ = try await browser.redeem { () async throws -> String in
                #expect(!browser.endsSignIn(after: closed))
                throw OpenIDConnectError(.stateMismatch, "another")
            }
        }
        #expect(error?.code == .cancelled)
    }

    @Test func `when the browser is open, then forged redirects are reported`() async throws {
        let browser = OpenedBrowser()
        let error = await #expect(throws: OpenIDConnectError.self) {
            _ = try await browser.redeem { () async throws -> String in
                throw OpenIDConnectError(.stateMismatch, "another")
            }
        }
        #expect(error?.code == .stateMismatch)
        #expect(browser.endsSignIn(after: closed), "the next redirect is awaited again")
    }

    @Test func `when redeeming fails, then its own error counts`() async throws {
        let browser = OpenedBrowser()
        let error = await #expect(throws: OpenIDConnectError.self) {
            _ = try await browser.redeem { () async throws -> String in
                _ = browser.endsSignIn(after: closed)
                throw OpenIDConnectError(.invalidGrant, "the code was used")
            }
        }
        #expect(error?.code == .invalidGrant)
    }
}
