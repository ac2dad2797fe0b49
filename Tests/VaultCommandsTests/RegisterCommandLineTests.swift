import CredentialVault
import Testing

@testable import VaultCommands

@Suite struct RegisterCommandLineTests {
    private static func command(_ keyService: String, opensWith kind: Keyslot.Kind) -> String? {
        AccountID(issuer: "https://login.example.com", subject: "1")
            .registerCommand(.openIDConnect, clientID: "", keyServiceURL: keyService, opensWith: kind)
    }

    @Test(arguments: [(Keyslot.Kind.password, "--password-only"), (.tpm2, "--tpm2")])
    func `without a key service the command names the unlock method`(kind: Keyslot.Kind, option: String) {
        #expect(
            Self.command("", opensWith: kind)
                == "vault register --issuer https://login.example.com --no-key-service \(option)")
    }

    @Test func `only the app that has its own hardware can sign in with it`() {
        let kind = Keyslot.Kind(rawValue: "badge; ls")
        #expect(Self.command("", opensWith: kind) == nil)
        #expect(
            Self.command("https://keys.example.com", opensWith: kind)
                == "vault register --issuer https://login.example.com --key-service https://keys.example.com")
    }
}
