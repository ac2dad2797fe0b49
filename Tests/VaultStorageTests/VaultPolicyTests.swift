import Foundation
import Testing
import VaultBiometric
import VaultCrypto
import VaultStorage

/// What a policy says of secrets and ways in, and how two become one.
@Suite struct VaultPolicyTests {
    @Test func `without a policy everything is as the rules for PINs and passwords say`() {
        let policy = VaultPolicy.standard
        #expect(policy.minimumPINLength == PINRule.length.lowerBound)
        #expect(policy.minimumPasswordLength == 8)
        #expect(policy.maximumOfflineDays == nil && policy.allowedWaysIn == nil)
        for kind in ["password", "pin", "an app's own"] { #expect(policy.allows(Keyslot.Kind(rawValue: kind))) }
    }

    @Test func `of two policies the stricter one counts in each point`() {
        let app = VaultPolicy(
            minimumPINLength: 6, minimumPasswordLength: 8, maximumOfflineDays: 7, allowedWaysIn: [.password, .pin])
        let machine = VaultPolicy(
            minimumPINLength: 4, minimumPasswordLength: 12, maximumOfflineDays: 3, allowedWaysIn: [.pin, .tpm2])
        let both = VaultPolicy(
            minimumPINLength: 6, minimumPasswordLength: 12, maximumOfflineDays: 3, allowedWaysIn: [.pin])
        #expect(VaultPolicy.stricter(of: app, machine) == both)
        #expect(VaultPolicy.stricter(of: machine, app) == both)
        // Who says nothing allows everything.
        let silent = VaultPolicy(minimumPINLength: 0, minimumPasswordLength: 0)
        #expect(VaultPolicy.stricter(of: silent, app) == app)
        #expect(VaultPolicy.stricter(of: app, silent) == app)
        let apart = VaultPolicy.stricter(of: VaultPolicy(allowedWaysIn: [.pin]), VaultPolicy(allowedWaysIn: [.tpm2]))
        #expect(apart.allowedWaysIn == [] && !apart.allows(.pin))
    }

    @Test func `a secret is measured in characters`() throws {
        let policy = VaultPolicy(minimumPINLength: 5, minimumPasswordLength: 5)
        for (text, isLongEnough) in [
            ("", false), ("1234", false), ("12345", true), ("größe", true), ("größ", false), ("👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦", false),
        ] {
            let secret = try SecretBytes(utf8: text)
            let (pin, password) = (policy.objection(toPIN: secret), policy.objection(toPassword: secret))
            #expect(pin == (isLongEnough ? nil : "The PIN is too short. It needs at least 5 characters."), "\(text)")
            #expect(
                password == (isLongEnough ? nil : "The password is too short. It needs at least 5 characters."),
                "\(text)")
        }
    }

    @Test func `hardware that needs no key service also needs the way without the network`() {
        func slot(_ kind: Keyslot.Kind, key: String) -> Keyslot {
            Keyslot(
                id: "1", kind: kind, salt: [], argon2: .insecureForTests, keyID: key, wrapped: [], createdAt: .now)
        }
        let policy = VaultPolicy(allowedWaysIn: [.pkcs11])
        #expect(policy.allows(slot(.pkcs11, key: "key")))
        #expect(!policy.allows(slot(.pkcs11, key: "")))
        #expect(!policy.allows(slot(.offline, key: "")))
        #expect(VaultPolicy(allowedWaysIn: [.pkcs11, .offline]).allows(slot(.pkcs11, key: "")))
    }
}
