#if PKCS11
    import Foundation
    import TestSupport
    import Testing
    import VaultBiometric
    import VaultCrypto

    @testable import VaultPKCS11

    extension PKCS11Tests {
        /// Each test runs in its own process, because SoftHSM finds its settings through the environment. p11-kit 0.24
        /// cannot send key agreement to a server.
        @Suite("A module in this process opens what was protected")
        struct InProcessTests {
            @Test(arguments: ["prime256v1", "secp384r1", "secp521r1"])
            func `when the key is elliptic, then the secret opens`(_ curve: String) async throws {
                let token = try SoftToken(keys: ["EC:\(curve)"], isPluggedIn: false)
                let uri = try SoftToken.moduleURI
                await #expect(processExitsWith: .success) {
                    [configuration = token.configuration as String, uri = uri as String, curve = curve as String] in
                    setenv("SOFTHSM2_CONF", configuration, 1)
                    let secret = TestSecret()
                    let protected = try await PKCS11Provider(uri).protected(secret)
                    let schemes: [String: KeyScheme] = ["prime256v1": .p256, "secp384r1": .p384, "secp521r1": .p521]
                    #expect(try SealedForm(protected.bytes).scheme == schemes[curve])
                    #expect(try await PKCS11Provider(uri).opened(protected) == secret.bytes)
                    #expect(try await PKCS11Provider(uri).failure(protected, by: Person("654321")).code == .wrongPIN)
                    #expect(try await PKCS11Provider(uri).opened(protected) == secret.bytes)
                    var bytes = protected.bytes
                    let form = try SealedForm(bytes)
                    let place = try #require(bytes.indices.first { bytes[$0...].starts(with: form.message) })
                    bytes[place + 5] ^= 1
                    bytes = Array(bytes.dropLast(32))
                    bytes += Checksum.of([bytes])
                    let damaged = try await PKCS11Provider(uri).failure(ProtectedSecret(bytes: bytes, label: ""))
                    #expect(damaged.description == BiometricError.notOpened.description)
                }
            }

            @Test func `when an elliptic key is made, then the secret opens`() async throws {
                let token = try SoftToken(keys: [], isPluggedIn: false)
                let uri = try SoftToken.moduleURI
                await #expect(processExitsWith: .success) {
                    [configuration = token.configuration as String, uri = uri as String] in
                    setenv("SOFTHSM2_CONF", configuration, 1)
                    let secret = TestSecret()
                    #expect(try await PKCS11Provider(uri).refusal(secret).code == .keyMissing)
                    let protected = try await PKCS11Provider(uri, newKey: .elliptic).protected(secret)
                    #expect(try SealedForm(protected.bytes).scheme == .p256)
                    #expect(try await PKCS11Provider(uri).opened(protected) == secret.bytes)
                    #expect(try await PKCS11Tokens.list(uri: uri).map(\.showsUsableKey) == [true])
                }
            }
        }
    }

    extension SoftToken {
        /// SoftHSM's module, without a server.
        static var modulePath: String { get throws { try Program.library("libsofthsm2.so") } }
        static var moduleURI: String { get throws { "pkcs11:?module-path=\(try modulePath)" } }
    }
#endif
