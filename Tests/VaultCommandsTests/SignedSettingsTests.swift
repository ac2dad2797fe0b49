import CredentialVault
import Testing

@testable import VaultCommands

/// The settings of an organisation. A key with the seed 0, 1, 2, … signed these files.
@Suite struct SignedSettingsTests {
    private static let key = "RWRzZXR0aW5ncwOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"
    private static let otherKey = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"

    private static let withKey = Signed(
        #"{"settings-key": "\#(key)", "issuer": "https://login.example.com", "key-service": "https://keys.example.com"}"#,
        """
        untrusted comment: test
        RURzZXR0aW5nc1cMD8zVvtrQnLMhJOVTgYggGCaVlWiU11dwnDwOSX9e8QAHmT6+0bCe2x3Ny2mfazWeZtCLCbdqsjoLP1EKhgI=
        trusted comment: the test
        w/nji11GLhrPl+aZu+NgV7bXB/tCAhdVjw7g7+b4Xg4yorG/9DTFfuAv/6E2alOFj+ZACuCQg6bh9YuSzVkkDg==

        """)
    /// The same content, signed at 2026-11-27 21:21:13 UTC.
    private static let withTime = Signed(
        withKey.content,
        """
        untrusted comment: test
        RURzZXR0aW5nc1cMD8zVvtrQnLMhJOVTgYggGCaVlWiU11dwnDwOSX9e8QAHmT6+0bCe2x3Ny2mfazWeZtCLCbdqsjoLP1EKhgI=
        trusted comment: timestamp:1795814473\tfile:vault.json\thashed
        7JtKkWMXVneN5ws0lfd/LiikqTzODjXDe95Ha4jybmn2LoK08xZFZ8RBu+aWwZkgaGOmJmrpA2t/jbklO53WAQ==

        """)
    private static let withoutKey = Signed(
        #"{"issuer": "https://login.example.com", "key-service": "https://keys.example.com"}"#,
        """
        untrusted comment: test
        RURzZXR0aW5nc0fGqAdi4Py8YrCPBvxW6LX7EIt4Mk/OLorXTHRMtdX9YlGfCGU9mORZXqGulDywIQKDh+PF8UHdGnDTBc+8xwg=
        trusted comment: the test
        Jg1Zk/bHp6HXatMtq4lsijkaqGySruFPg7dLouxU8+9X4DSrFuQFfrtTGbkSUiGedUkb9FgkKeyazYh2R/pRBQ==

        """)

    private struct Signed {
        let content: String
        let signature: String

        init(_ content: String, _ signature: String) {
            self.content = content
            self.signature = signature
        }

        /// - Parameters:
        ///   - given: the key of the person.
        ///   - last: the key of the settings in use.
        ///   - lastSigned: when they were signed.
        func read(
            changing from: String = "", to: String = "", given: String? = nil, last: String? = nil,
            lastSigned: String? = nil
        ) throws -> SignedSettings {
            let text = from.isEmpty ? content : content.replacing(from, with: to)
            return try SignedSettings(
                Array(text.utf8), signature: Array(signature.utf8), from: "vault.json",
                given: given.flatMap { MinisignKey($0) }, last: last.flatMap { MinisignKey($0) },
                lastSigned: lastSigned.flatMap { Settings.Name.time($0) })
        }
    }

    /// The error of reading a file. Nil if reading works.
    private func refusal(_ body: () throws -> SignedSettings) -> String? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? VaultError)?.description ?? "\(error)"
        }
    }

    @Test func `when a file names its key, then that key counts`() throws {
        for last in [nil, Self.key, Self.otherKey] {
            let file = try Self.withKey.read(last: last)
            #expect(file.key.text == Self.key && file.comment == "the test")
            #expect(
                file.values == [
                    .issuer: "https://login.example.com", .keyService: "https://keys.example.com",
                    .settingsKey: Self.key,
                ])
        }
    }

    @Test func `when a file names none, then a known key counts`() throws {
        #expect(try Self.withoutKey.read(given: Self.key).values[.settingsKey] == Self.key)
        #expect(try Self.withoutKey.read(last: Self.key).values[.settingsKey] == Self.key)
        #expect(refusal { try Self.withoutKey.read() }?.contains("does not name the key") == true)
    }

    @Test func `when another key is given, then the file is refused`() {
        for file in [Self.withKey, Self.withoutKey] {
            let text = refusal { try file.read(given: Self.otherKey, last: Self.key) }
            #expect(text == "The settings file vault.json cannot be used. Another key than \(Self.otherKey) signed it.")
        }
    }

    @Test func `when the same key signed later settings, then a file is refused`() throws {
        for given in [nil, Self.key] {
            let text = refusal {
                try Self.withTime.read(given: given, last: Self.key, lastSigned: "2026-11-27T21:21:14Z")
            }
            #expect(text?.contains("cannot be used. It was signed at 2026-11-2") == true, "\(text ?? "accepted")")
        }
        for last in [nil, "2026-11-27T21:21:13Z", "2025-01-01T00:00:00Z"] {
            let file = try Self.withTime.read(last: Self.key, lastSigned: last)
            #expect(file.values[.settingsSignedAt] == "2026-11-27T21:21:13Z")
        }
    }

    @Test func `when nobody can compare two times, then the file counts`() throws {
        let later = "2027-01-01T00:00:00Z"
        #expect(try Self.withTime.read(last: Self.otherKey, lastSigned: later).key.text == Self.key)
        let file = try Self.withKey.read(last: Self.key)
        #expect(file.signedAt == nil && file.values[.settingsSignedAt] == nil)
    }

    @Test func `when only the settings in use have a time, then a file is refused`() {
        for given in [nil, Self.key] {
            let text = refusal {
                try Self.withKey.read(given: given, last: Self.key, lastSigned: "2025-01-01T00:00:00Z")
            }
            #expect(text?.contains("does not say when it was made") == true, "\(text ?? "accepted")")
        }
    }

    @Test func `when a signed file changes, then it is refused`() {
        let text = refusal { try Self.withKey.read(changing: "keys.example", to: "evil.example") }
        #expect(text == "The settings file vault.json cannot be used. Somebody changed it after it was signed.")
        // Another key in the file makes it a file of that key.
        let other = refusal { try Self.withKey.read(changing: Self.key, to: Self.otherKey) }
        #expect(other?.contains("Another key than \(Self.otherKey) signed it.") == true)
    }
}
