import Testing
import VaultCrypto

@testable import KeyServiceServer

@Suite struct WrappingTests {
    private static let salt = [UInt8](repeating: 7, count: 16)

    /// The three ways to a wrapping key.
    enum Derivation: CaseIterable {
        case strong, long, stretched

        func key(_ secret: String, salt: [UInt8] = WrappingTests.salt, _ masterKey: MasterKey?) throws -> SecretBytes {
            switch self {
            case .strong: try KeyWrapping.key(strongSecret: secret, salt: salt, masterKey: masterKey)
            case .long: try KeyWrapping.key(longSecret: secret, salt: salt, masterKey: masterKey)
            case .stretched:
                try KeyWrapping.key(
                    stretching: secret, salt: salt, parameters: .insecureForTests, masterKey: masterKey)
            }
        }
    }

    @Test(arguments: Derivation.allCases) func secretSaltAndMasterKeyAreAllNeeded(derivation: Derivation) throws {
        let masterKey = try MasterKey.random()
        let key = try derivation.key("secret", masterKey)
        let again = try derivation.key("secret", masterKey)
        let other = try derivation.key("secreT", masterKey)
        let otherSalt = try derivation.key("secret", salt: [UInt8](repeating: 8, count: 16), masterKey)
        let otherMasterKey = try derivation.key("secret", MasterKey.random())
        let noMasterKey = try derivation.key("secret", nil)
        // `#expect` cannot take noncopyable values.
        let isSame = key.isEqual(to: again)
        let isSameOfAnother = [
            key.isEqual(to: other), key.isEqual(to: otherSalt), key.isEqual(to: otherMasterKey),
            key.isEqual(to: noMasterKey),
        ]
        #expect(isSame)
        #expect(isSameOfAnother == [false, false, false, false])
    }

    @Test func oneSecretGivesAnotherKeyForEachUse() throws {
        let masterKey = try MasterKey.random()
        let strong = try Derivation.strong.key("secret", masterKey)
        let long = try Derivation.long.key("secret", masterKey)
        let isSame = strong.isEqual(to: long)
        #expect(!isSame)
    }

    @Test func wrapIsBoundToItsKeyAndItsUse() throws {
        let key = try SecretBytes.random(count: 32)
        let context = KeyWrapping.contextForSecret(keyID: "a", masterKey: nil)
        let envelope = try KeyPair().sealed(under: key, context: context)
        _ = try KeyPair(opening: envelope, key: key, context: context)
        for other in [
            KeyWrapping.contextForSecret(keyID: "b", masterKey: nil),
            KeyWrapping.contextForLongSecret(keyID: "a", masterKey: nil),
            KeyWrapping.contextForSecret(keyID: "a", masterKey: try MasterKey.random()),
        ] {
            let error = #expect(throws: VaultCryptoError.self) {
                _ = try KeyPair(opening: envelope, key: key, context: other)
            }
            #expect(error?.code == .wrongKey)
        }
    }

    @Test(arguments: [
        ("cv1." + String(repeating: "A", count: 43), true), ("cv1." + String(repeating: "-_", count: 21) + "9", true),
        ("cv1." + String(repeating: "A", count: 42), false), ("cv1." + String(repeating: "A", count: 44), false),
        ("cv1." + String(repeating: "A", count: 42) + "=", false),
        ("cv1." + String(repeating: "A", count: 42) + "+", false),
        ("cv2." + String(repeating: "A", count: 43), false), (String(repeating: "A", count: 47), false),
        ("CV1." + String(repeating: "A", count: 43), false), ("1234", false),
        ("cv1." + String(repeating: "A", count: 41) + "é", false),
    ]) func onlyOurOwnFormSkipsArgon2(secret: String, isStrong: Bool) {
        #expect(KeyWrapping.isStrong(secret) == isStrong)
    }
}
