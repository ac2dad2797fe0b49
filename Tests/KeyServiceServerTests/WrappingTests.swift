import KeyServiceTestSupport
import Testing
import VaultCrypto

@testable import KeyServiceCore

@Suite struct WrappingTests {
    private static let salt = [UInt8](repeating: 7, count: 16)

    /// The three ways to a wrapping key.
    enum Derivation: CaseIterable {
        case strong, long, stretched

        func key(_ secret: String, salt: [UInt8] = WrappingTests.salt) throws -> SecretBytes {
            switch self {
            case .strong: try KeyWrapping.key(strongSecret: secret, salt: salt)
            case .long: try KeyWrapping.key(longSecret: secret, salt: salt)
            case .stretched: try KeyWrapping.key(stretching: secret, salt: salt, parameters: .insecureForTests)
            }
        }
    }

    @Test(arguments: Derivation.allCases)
    func `when secret or salt differs, then the key differs`(derivation: Derivation) throws {
        let key = try derivation.key("secret")
        let again = try derivation.key("secret")
        let other = try derivation.key("secreT")
        let otherSalt = try derivation.key("secret", salt: [UInt8](repeating: 8, count: 16))
        // `#expect` cannot take noncopyable values.
        let isSame = key.isEqual(to: again)
        let isSameOfAnother = [key.isEqual(to: other), key.isEqual(to: otherSalt)]
        #expect(isSame)
        #expect(isSameOfAnother == [false, false])
    }

    @Test func `when one secret has two uses, then the keys differ`() throws {
        let strong = try Derivation.strong.key("secret")
        let long = try Derivation.long.key("secret")
        let isSame = strong.isEqual(to: long)
        #expect(!isSame)
    }

    @Test func `when the wrapping context differs, then opening fails`() throws {
        let key = try SecretBytes.random(count: 32)
        let context = KeyWrapping.contextForSecret(keyID: "a")
        let envelope = try KeyPair().sealed(under: key, context: context)
        _ = try KeyPair(opening: envelope, key: key, context: context)
        for other in [
            KeyWrapping.contextForSecret(keyID: "b"),
            KeyWrapping.contextForLongSecret(keyID: "a"),
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
    ])
    func `when secrets are classified, then only our form skips Argon2`(secret: String, isStrong: Bool) async throws {
        #expect(KeyWrapping.isStrong(secret) == isStrong)
        // This pool has no permit, so a key that needs Argon2 is refused.
        let keeper = KeyKeeper(
            masterKeys: MasterKeys(try .random()), commits: GroupCommit(store: InMemoryKeyRecordStore()),
            stretching: StretchingPool(threads: 1, maxRequests: 0), argon2: .insecureForTests, now: { 0 })
        do {
            _ = try await keeper.createKey(secret: secret, deadline: .now + .seconds(60))
            #expect(isStrong)
        } catch let error as KeyServiceServerError {
            #expect(error.code == .busy && !isStrong)
        }
    }
}
