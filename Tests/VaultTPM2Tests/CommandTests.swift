#if TPM2
    import TestSupport
    import Testing
    import VaultBiometric

    @testable import VaultTPM2

    @Suite("The TPM is asked for no more than is needed")
    struct CommandTests {
        let tpm: SoftwareTPM
        let secret = TestSecret()
        private static let createPrimary: UInt32 = 0x131

        init() throws { tpm = try SoftwareTPM() }

        @Test func `when secrets open, then the root key is derived once`() async throws {
            let protected = try await TPM2Provider(tpm.tcti).protected(secret, pin: "4711")
            let proxy = try BusProxy(to: tpm)
            defer { proxy.stop() }
            #expect(try await TPM2Provider(proxy.tcti).opened(protected, pin: "4711") == secret.bytes)
            #expect(proxy.codes.count { $0 == Self.createPrimary } == 1)
            #expect(try tpm.used() == 0)
        }

        @Test func `when the TPM resets mid-typing, then derivation is repeated`() async throws {
            let protected = try await TPM2Provider(tpm.tcti).protected(secret, pin: "4711")
            let proxy = try BusProxy(to: tpm)
            defer { proxy.stop() }
            let person = Person { [port = tpm.port] _ in
                try SoftwareTPM.reset(port)
                return "4711"
            }
            #expect(try await TPM2Provider(proxy.tcti).opened(protected, by: person) == secret.bytes)
            #expect(proxy.codes.count { $0 == Self.createPrimary } == 2)
            #expect(try tpm.used() == 0)
        }

        @Test func `when a persistent key exists, then none is derived`() async throws {
            try tpm.provision("-G", "ecc")
            let protected = try await TPM2Provider(tpm.tcti).protected(secret, pin: "4711")
            let proxy = try BusProxy(to: tpm)
            defer { proxy.stop() }
            #expect(try await TPM2Provider(proxy.tcti).opened(protected, pin: "4711") == secret.bytes)
            #expect(!proxy.codes.contains(Self.createPrimary))
        }
    }
#endif
