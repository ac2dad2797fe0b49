import Foundation
import Testing
import VaultBiometric
import VaultCrypto
import VaultStorage
import VaultStorageTestSupport
import VaultUnlock

/// A policy's rules for secrets and unlock methods, and the combination of two policies.
@Suite struct VaultPolicyTests {
    @Test func `when no policy is set, then the standard rules count`() {
        let policy = VaultPolicy.standard
        #expect(policy.minimumPINLength == PINRule.length.lowerBound)
        #expect(policy.minimumPasswordLength == 8)
        #expect(policy.maximumOfflineDays == nil && policy.allowedUnlockMethods == nil)
        for kind in ["password", "pin", "an app's own"] { #expect(policy.allows(Keyslot.Kind(rawValue: kind))) }
    }

    @Test func `when two policies differ, then the stricter one counts`() {
        let app = VaultPolicy(
            minimumPINLength: 6, minimumPasswordLength: 8, maximumOfflineDays: 7,
            allowedUnlockMethods: [.password, .pin])
        let machine = VaultPolicy(
            minimumPINLength: 4, minimumPasswordLength: 12, maximumOfflineDays: 3, allowedUnlockMethods: [.pin, .tpm2])
        let both = VaultPolicy(
            minimumPINLength: 6, minimumPasswordLength: 12, maximumOfflineDays: 3, allowedUnlockMethods: [.pin])
        #expect(VaultPolicy.stricter(of: app, machine) == both)
        #expect(VaultPolicy.stricter(of: machine, app) == both)
        // An empty policy allows everything.
        let silent = VaultPolicy(minimumPINLength: 0, minimumPasswordLength: 0)
        #expect(VaultPolicy.stricter(of: silent, app) == app)
        #expect(VaultPolicy.stricter(of: app, silent) == app)
        let apart = VaultPolicy.stricter(
            of: VaultPolicy(allowedUnlockMethods: [.pin]), VaultPolicy(allowedUnlockMethods: [.tpm2]))
        #expect(apart.allowedUnlockMethods == [] && !apart.allows(.pin))
    }

    @Test func `when either policy forbids a method, then both forbid it`() {
        let app = VaultPolicy(allowedUnlockMethods: [.password, .pin, .recovery], forbiddenUnlockMethods: [.pin])
        let machine = VaultPolicy(forbiddenUnlockMethods: [.recovery])
        for both in [VaultPolicy.stricter(of: app, machine), VaultPolicy.stricter(of: machine, app)] {
            #expect(both.forbiddenUnlockMethods == [.pin, .recovery])
            #expect(both.allows(.password) && !both.allows(.pin) && !both.allows(.recovery) && !both.allows(.tpm2))
        }
        #expect(!machine.allows(.recovery) && machine.allows(.offline))
        #expect(VaultPolicy.standard.allows(.recovery))
    }

    @Test func `when one policy requires a key service, then both do`() {
        let (app, machine) = (VaultPolicy(), VaultPolicy(requiresKeyService: true))
        for both in [VaultPolicy.stricter(of: app, machine), VaultPolicy.stricter(of: machine, app)] {
            #expect(both == machine && !both.allows(keyService: "") && both.allows(keyService: "https://keys.example"))
        }
        #expect(app.allows(keyService: ""))
    }

    @Test func `when two policies limit sessions, then the lower limit counts`() {
        let app = VaultPolicy(
            maximumIdleMinutes: 30, maximumSessionHours: 8, allowedIssuers: ["https://a.example", "https://b.example"])
        let machine = VaultPolicy(
            maximumIdleMinutes: 15, maximumSessionHours: 12, allowedIssuers: ["https://b.example"],
            allowedKeyServices: ["https://keys.example"])
        let both = VaultPolicy(
            maximumIdleMinutes: 15, maximumSessionHours: 8, allowedIssuers: ["https://b.example"],
            allowedKeyServices: ["https://keys.example"])
        #expect(VaultPolicy.stricter(of: app, machine) == both)
        #expect(VaultPolicy.stricter(of: machine, app) == both)
        #expect(VaultPolicy.stricter(of: .standard, both) == both)
    }

    @Test func `when two policies set revocation checks, then the shorter counts`() throws {
        let machine = try VaultPolicy(json: Array(#"{"revocation-check-hours": 4}"#.utf8), from: "policy.json")
        #expect(machine.revocationCheckHours == 4)
        #expect(VaultPolicy.standard.revocationCheckHours == nil)
        for hours in [nil, 12] {
            let app = VaultPolicy(revocationCheckHours: hours)
            #expect(VaultPolicy.stricter(of: app, machine).revocationCheckHours == 4)
        }
        #expect(throws: VaultError.self) {
            _ = try VaultPolicy(json: Array(#"{"revocation-check-hours": 0}"#.utf8), from: "policy.json")
        }
    }

    @Test func `when a local server is allowed, then spelling is normalized`() {
        let policy = VaultPolicy(allowedIssuers: ["http://Notes.lan:80/"])
        #expect(policy.allows(issuer: "http://notes.lan", method: .serverToken))
        #expect(!policy.allows(issuer: "https://notes.lan", method: .serverToken))
    }

    @Test(arguments: [
        ("https://login.example/realm", SignInMethod.openIDConnect, true),
        ("https://login.example/realm/", .openIDConnect, false), ("https://LOGIN.example/realm", .openIDConnect, false),
        ("https://login.example", .openIDConnect, false), ("https://login.example/realm/x", .openIDConnect, false),
        ("https://login.example/realm/", .serverToken, true), ("https://LOGIN.example:443/realm", .serverToken, true),
        ("https://login.example/other", .serverToken, false), ("", .openIDConnect, false),
        ("https://login.example.evil.example/realm", .serverToken, false),
    ])
    func `when an issuer is compared, then its sign-in method decides`(
        issuer: String, method: SignInMethod, isAllowed: Bool
    ) {
        let policy = VaultPolicy(allowedIssuers: ["https://login.example/realm"])
        #expect(policy.allows(issuer: issuer, method: method) == isAllowed)
        #expect(VaultPolicy.standard.allows(issuer: issuer, method: method))
        #expect(!VaultPolicy(allowedIssuers: []).allows(issuer: issuer, method: method))
    }

    @Test func `when a key-service address differs, then the policy forbids it`() {
        let policy = VaultPolicy(allowedKeyServices: ["https://keys.example/base"])
        #expect(policy.allows(keyService: "https://keys.example/base"))
        for url in ["https://keys.example/base/", "https://keys.example", "https://other.example/base", ""] {
            #expect(!policy.allows(keyService: url))
            #expect(VaultPolicy.standard.allows(keyService: url))
        }
    }

    @Test func `when a secret is measured, then characters count, not bytes`() throws {
        let policy = VaultPolicy(minimumPINLength: 5, minimumPasswordLength: 5)
        for (text, isLongEnough) in [
            ("", false), ("1234", false), ("12345", true), ("größe", true), ("größ", false), ("👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦", false),
        ] {
            let secret = try SecretBytes(utf8: text)
            let (pin, password) = (policy.objection(toPIN: secret), policy.objection(toPassword: secret))
            #expect(
                pin?.description == (isLongEnough ? nil : "The PIN is too short. It needs at least 5 characters."),
                "\(text)")
            #expect(
                password?.description
                    == (isLongEnough ? nil : "The password is too short. It needs at least 5 characters."),
                "\(text)")
            for objection in [pin, password].compactMap(\.self) {
                #expect(objection.code == .tooShort && objection.least == 5)
            }
        }
    }

    @Test func `when hardware needs no service, then offline must be allowed`() {
        func slot(_ kind: Keyslot.Kind, key: String) -> Keyslot {
            Keyslot(
                id: "1", kind: kind, salt: [], argon2: .insecureForTests, keyID: key,
                keyServiceProtocol: key.isEmpty ? nil : 1, wrapped: [], createdAt: .now)
        }
        let policy = VaultPolicy(allowedUnlockMethods: [.pkcs11])
        #expect(policy.allows(slot(.pkcs11, key: "key")))
        #expect(!policy.allows(slot(.pkcs11, key: "")))
        #expect(!policy.allows(slot(.offline, key: "")))
        #expect(VaultPolicy(allowedUnlockMethods: [.pkcs11, .offline]).allows(slot(.pkcs11, key: "")))
    }
}
