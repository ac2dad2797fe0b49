#if PKCS11
    import Foundation
    import TestSupport
    import Testing
    import VaultBiometric
    import VaultCrypto

    @testable import VaultPKCS11

    extension PKCS11Tests {
        @Suite("Nothing secret stays in memory")
        struct MemoryTests {
            @Test(arguments: ["%01", "%02"])
            func `when a call ends, then no secret stays in memory`(_ id: String) async throws {
                let token = try SoftToken(keys: ["rsa:2048", "EC:prime256v1"], isPluggedIn: false)
                let module = try SoftToken.modulePath
                await #expect(processExitsWith: .success) {
                    [configuration = token.configuration as String, module = module as String, id = id as String] in
                    setenv("SOFTHSM2_CONF", configuration, 1)
                    let provider = PKCS11Provider("pkcs11:id=\(id)?module-path=\(module)")
                    let (protected, secret) = try await provider.protectedUnseen(by: Person())
                    #expect(try secret.occurrences() == 0)
                    try await provider.openUnseen(protected, secret, by: Person())
                    #expect(try secret.occurrences() == 0)
                    let pin = try HiddenBytes.digits()
                    #expect(try await provider.failure(protected, by: QuietPerson(pin)).code == .wrongPIN)
                    #expect(try pin.occurrences() == 0)
                }
            }
        }
    }
#endif
