import CredentialVault
import Testing

@testable import VaultCommands

/// The name in "Signed in as …".
@Suite struct SignedInNameTests {
    @Test(
        arguments: [
            ("Alice", "alice@example.com", "Alice <alice@example.com>"),
            (nil, "alice@example.com", "alice@example.com"),
            ("Alice", nil, "Alice"), (nil, nil, "a1"),
            ("bob@example.com>", "<alice@example.com", "bob@example.com <alice@example.com>"),
        ] as [(String?, String?, String)])
    func `when a person signs in, then the name is told`(name: String?, email: String?, told: String) {
        let token = SignInResult(
            Credential(value: "R1"), account: AccountID(issuer: "https://login.example.com", subject: "a1"),
            clientID: "app", identity: .init(email: email, preferredUsername: nil, name: name, claimsJSON: []),
            accessToken: nil)
        #expect(SigningIn.name(of: token) == told)
    }
}
