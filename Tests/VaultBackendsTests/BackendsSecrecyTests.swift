import Testing
import VaultBase
import VaultTesting

@testable import OpenIDConnect
@testable import VaultAuth
@testable import VaultBackends

@Suite struct BackendsSecrecyTests {
    @Test func `when backend answers are printed, then no secret shows`() throws {
        let answer = try #require(
            JSONValue(objectIn: Array(#"{"access_token":"secret-a","refresh_token":"secret-r"}"#.utf8)))
        let tokens = TokenAnswer(answer, BackendLayout.Tokens().fields, sentAt: ManualClock().now)
        let client = LoginClient(id: "id", secret: "secret-c")
        let redirect = try AuthorizationResponse("/callback?code=secret-d")
        var text = "\(tokens) \(client) \(redirect)" + String(reflecting: [tokens]) + String(reflecting: [client])
        dump(tokens, to: &text)
        dump(client, to: &text)
        dump(redirect, to: &text)
        #expect(!text.contains("secret"))
    }
}
