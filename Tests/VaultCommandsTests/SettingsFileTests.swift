import CredentialVault
import Testing

@testable import VaultCommands

/// The settings that somebody else wrote, and what becomes of a person's own ones.
@Suite struct SettingsFileTests {
    private func read(_ json: String) throws -> [Settings.Name: String] {
        try Settings.values(json: Array(json.utf8)) { VaultError(.configurationInvalid, $0) }
    }

    @Test func `when a file has settings, then they are read`() throws {
        let values = try read(#"{"issuer": "https://a.example", "scopes": "", "agent": "off"}"#)
        #expect(values == [.issuer: "https://a.example", .agent: "off"])
        #expect(try read("{}") == [:])
    }

    @Test(arguments: [
        ("", "one JSON object"), ("[]", "one JSON object"), (#"{"user": "a", "user": "b"}"#, "has a name twice"),
        (#"{"isuer": "https://a.example"}"#, #"does not know the setting "isuer""#),
        (#"{"provider-timeout": 60}"#, "provider-timeout has to be a text in quotes"),
        (#"{"user": null}"#, "user has to be"), (#"{"user": "a\u001b[2J"}"#, "user has to be"),
    ])
    func `when a file makes no sense, then reading fails`(json: String, says: String) {
        let error = #expect(throws: VaultError.self) { try read(json) }
        #expect(error?.code == .configurationInvalid && error?.description.contains(says) == true)
    }

    @Test func `when the issuer changes, then its other settings go`() {
        let change = SettingsChange(
            to: [.issuer: "https://b.example", .keyService: "https://keys.example"],
            over: [
                .issuer: "https://a.example", .clientID: "a", .clientSecretFile: "/secret", .uiLocales: "da",
                .keyService: "https://keys.example", .keyServiceKeys: "k",
            ], machine: [:])
        #expect(change.values == [.issuer: "https://b.example", .clientID: nil, .clientSecretFile: nil])
    }

    @Test func `when the key service changes, then its keys go`() {
        let change = SettingsChange(
            to: [.issuer: "https://a.example", .clientID: "b", .keyService: "https://new.example"],
            over: [
                .issuer: "https://a.example", .clientID: "a", .keyService: "https://old.example", .keyServiceKeys: "k",
            ], machine: [:])
        #expect(change.values == [.clientID: "b", .keyService: "https://new.example", .keyServiceKeys: nil])
    }

    @Test func `when another key signs the settings, then its time counts`() {
        let old: [Settings.Name: String] = [.settingsKey: "a", .settingsSignedAt: "2026-11-27T21:21:13Z"]
        #expect(
            SettingsChange(to: [.settingsKey: "b"], over: old, machine: [:]).values
                == [.settingsKey: "b", .settingsSignedAt: nil])
        #expect(SettingsChange(to: [.settingsKey: "a"], over: old, machine: [:]).values.isEmpty)
    }

    @Test func `when a person leaves the machine's issuer, then clients go`() {
        let machine: [Settings.Name: String] = [.issuer: "https://a.example", .clientID: "machine", .uiLocales: "da"]
        let change = SettingsChange(to: [.issuer: "https://b.example"], over: [:], machine: machine)
        #expect(change.values == [.issuer: "https://b.example", .clientID: ""])
        // Back at the machine's issuer, its client counts again.
        let back = SettingsChange(
            to: [.issuer: "https://a.example"], over: [.issuer: "https://b.example", .clientID: ""], machine: machine)
        #expect(back.values == [.issuer: nil, .clientID: nil])
    }

    @Test func `when the machine has a setting, then none is copied`() {
        let new: [Settings.Name: String] = [.issuer: "https://a.example", .clientID: "a"]
        let machine: [Settings.Name: String] = [.issuer: "https://a.example", .clientID: "machine"]
        #expect(SettingsChange(to: new, over: [:], machine: machine).values == [.clientID: "a"])
        // An own value that would hide the machine's goes.
        let own = SettingsChange(to: new, over: [.issuer: "https://old.example", .clientID: "a"], machine: machine)
        #expect(own.values == [.issuer: nil])
        #expect(SettingsChange(to: new, over: new, machine: machine).values.isEmpty)
    }
}
