import Foundation
import Testing
import VaultStorage

/// The file with the machine's policy. The library obeys it or reports an error.
@Suite struct MachinePolicyTests {
    /// Runs `body` with a folder of the user who runs the tests.
    private func withFolder(_ body: (_ folder: String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.path() + "vault-policy-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(chmod(folder, 0o755) == 0)
        try body(folder)
    }

    private func read(_ file: String, owner: UInt32 = geteuid()) throws -> VaultPolicy? {
        try VaultPolicy.ofMachine(file: file, owner: owner)
    }

    /// The error of reading the file. Nil if reading works.
    private func refusal(_ file: String, owner: UInt32 = geteuid()) -> VaultError? {
        do {
            _ = try read(file, owner: owner)
            return nil
        } catch {
            return error as? VaultError
        }
    }

    private func write(_ text: String, _ file: String, mode: mode_t = 0o644) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        #expect(chmod(file, mode) == 0)
    }

    @Test func `when the policy file omits a limit, then none applies`() throws {
        try withFolder { folder in
            let file = folder + "/policy.json"
            #expect(try read(file) == nil)
            #expect(try read(folder + "/nowhere/policy.json") == nil)
            try write(
                """
                {"minimum-pin-length": 6, "minimum-password-length": 12, "maximum-offline-days": 0,
                 "allowed-unlock-methods": ["password", "tpm2"], "maximum-idle-minutes": 15, "maximum-session-hours": 8,
                 "allowed-issuers": ["https://login.example.com/realm/", "http://127.0.0.1:8080", "http://notes.lan"],
                 "allowed-key-services": ["https://keys.example.com"], "forbidden-unlock-methods": ["offline"],
                 "require-key-service": true}
                """, file)
            let policy = VaultPolicy(
                minimumPINLength: 6, minimumPasswordLength: 12, maximumOfflineDays: 0,
                allowedUnlockMethods: [.password, .tpm2], maximumIdleMinutes: 15, maximumSessionHours: 8,
                allowedIssuers: ["https://login.example.com/realm/", "http://127.0.0.1:8080", "http://notes.lan"],
                allowedKeyServices: ["https://keys.example.com"], forbiddenUnlockMethods: [.offline],
                requiresKeyService: true)
            #expect(try read(file) == policy)
            try write("{}", file)
            let silent = try #require(try read(file))
            let app = VaultPolicy(minimumPINLength: 1, minimumPasswordLength: 1, maximumOfflineDays: 99)
            #expect(VaultPolicy.stricter(of: app, silent) == app)
        }
    }

    @Test(arguments: [
        ("", "one JSON object"), ("[]", "one JSON object"), ("{", "one JSON object"), ("{} {}", "one JSON object"),
        (#"{"minimum-pin-length": 4, "minimum-pin-length": 8}"#, "has a name twice"),
        (#"{"minimum-pin-lenght": 8}"#, #""minimum-pin-lenght""#), (#"{"a\nb": 8}"#, #""a\nb""#),
        (#"{"minimum-pin-length": "8"}"#, "minimum-pin-length has to be a whole number from 1 to 64"),
        (#"{"minimum-pin-length": null}"#, "minimum-pin-length"),
        (#"{"minimum-pin-length": 4.5}"#, "minimum-pin-length"),
        (#"{"minimum-pin-length": 65}"#, "minimum-pin-length"), (#"{"minimum-password-length": -1}"#, "from 1 to 1024"),
        (#"{"minimum-password-length": true}"#, "minimum-password-length"),
        (#"{"maximum-offline-days": 1e99}"#, "from 0 to 3650"), (#"{"maximum-offline-days": []}"#, "from 0 to 3650"),
        (#"{"allowed-unlock-methods": "password"}"#, "allowed-unlock-methods has to be a list"),
        (#"{"allowed-unlock-methods": []}"#, "allowed-unlock-methods has to be a list"),
        (#"{"allowed-unlock-methods": ["password", 1]}"#, "allowed-unlock-methods has to be a list"),
        (#"{"allowed-unlock-methods": [""]}"#, "allowed-unlock-methods has to be a list"),
        (#"{"forbidden-unlock-methods": "desktop"}"#, "forbidden-unlock-methods has to be a list"),
        (#"{"forbidden-unlock-methods": []}"#, "forbidden-unlock-methods has to be a list"),
        (#"{"maximum-idle-minutes": 0}"#, "from 1 to 10080"), (#"{"maximum-session-hours": 8761}"#, "from 1 to 8760"),
        (#"{"allowed-issuers": []}"#, "allowed-issuers has to be a list of https URLs"),
        (#"{"allowed-issuers": "https://a.example"}"#, "allowed-issuers has to be"),
        (#"{"allowed-issuers": ["a.example"]}"#, "allowed-issuers has to be"),
        (#"{"allowed-issuers": ["http://a.example"]}"#, "allowed-issuers has to be"),
        (#"{"allowed-key-services": ["http://keys.lan"]}"#, "allowed-key-services has to be"),
        (#"{"allowed-key-services": ["https://u:p@a.example"]}"#, "allowed-key-services has to be"),
        (#"{"allowed-key-services": ["https://a.example", 1]}"#, "allowed-key-services has to be"),
        (#"{"require-key-service": 1}"#, "require-key-service has to be true or false"),
    ])
    func `when a policy file makes no sense, then reading fails`(text: String, says: String) throws {
        try withFolder { folder in
            let file = folder + "/policy.json"
            try write(text, file)
            let error = refusal(file)
            #expect(error?.code == .configurationInvalid)
            #expect(error?.description.contains(file) == true && error?.description.contains(says) == true)
            #expect(error?.description.hasSuffix("Ask the administrator to correct it.") == true)
        }
    }

    @Test func `when others can write the policy, then it is refused`() throws {
        try withFolder { folder in
            let file = folder + "/policy.json"
            for mode in [0o664, 0o646, 0o666] as [mode_t] {
                try write("{}", file, mode: mode)
                #expect(refusal(file)?.detail == .policyFileUnsafe && refusal(file)?.value == file)
            }
            try write("{}", file)
            let other = refusal(file, owner: geteuid() + 1)
            #expect(other?.code == .configurationInvalid && other?.description.contains("can change \(file).") == true)
            #expect(other?.detail == .policyFileUnsafe && other?.value == file)
            for mode in [0o775, 0o757] as [mode_t] {
                #expect(chmod(folder, mode) == 0)
                #expect(refusal(file)?.detail == .policyFolderUnsafe && refusal(file)?.value == folder)
            }
            #expect(chmod(folder, 0o755) == 0)
            #expect(refusal(file) == nil)
        }
    }

    @Test func `when a policy is unreadable, then an error is thrown`() throws {
        try withFolder { folder in
            let (file, target) = (folder + "/policy.json", folder + "/target")
            try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: target)
            #expect(refusal(file)?.code == .configurationInvalid, "a link that leads nowhere")
            try write(#"{"maximum-offline-days": 1}"#, target)
            #expect(try read(file)?.maximumOfflineDays == 1)
            #expect(unlink(file) == 0 && mkdir(file, 0o755) == 0)
            #expect(refusal(file)?.description.contains("not a regular file") == true)
            #expect(rmdir(file) == 0 && mkfifo(file, 0o644) == 0)
            #expect(refusal(file)?.description.contains("not a regular file") == true, "it does not wait for a writer")
            #expect(refusal(target + "/policy.json")?.code == .configurationInvalid, "the folder is a file")
            try write(String(repeating: " ", count: 65_537), target)
            #expect(refusal(target)?.description.contains("64 KiB") == true)
        }
    }
}
