#if PKCS11
    import TestSupport
    import Testing
    import VaultBiometric

    @testable import VaultPKCS11

    extension PKCS11Tests {
        @Suite("The tokens that are plugged in")
        struct ListTests {
            @Test func `when tokens are plugged in, then the list names them`() async throws {
                let first = try SoftToken(label: "first one")
                let second = try SoftToken(label: "second", keys: [])
                let proxy = try TokenProxy(to: first.server)
                let tokens = try await PKCS11Tokens.list()
                // The proxy shows the first token again.
                #expect(Set(tokens.map(\.label)) == ["first one", "second"])
                #expect(tokens.count == 3)
                let (listed, other) = try (
                    #require(tokens.first { $0.label == "first one" }), #require(tokens.first { $0.label == "second" })
                )
                #expect(listed.model == "SoftHSM v2")
                #expect(listed.uri.contains("token=first%20one"))
                #expect(listed.uri.contains("serial=\(listed.serialNumber)"))
                #expect(listed.showsUsableKey)
                #expect(!other.showsUsableKey)
                #expect(!listed.isHardware)
                #expect(!listed.isLocked)
                #expect(proxy.count(.logIn) == 0)
                proxy.stop()
                #expect(try await PKCS11Tokens.list(uri: listed.uri).map(\.label) == ["first one"])
                // A listed token can be enrolled.
                #expect(try await PKCS11Provider(listed.uri).protected(TestSecret()).label == "first one")
                first.server.unplug()
                second.server.unplug()
                #expect(try await PKCS11Tokens.list().isEmpty)
            }

            @Test func `when a token is a TPM, then it is hardware`() async throws {
                let token = try TPMToken()
                let tokens = try await PKCS11Tokens.list(uri: token.server.uri)
                #expect(tokens.map(\.isHardware) == [true])
                #expect(tokens.map(\.label) == ["tpm"])
            }

            @Test func `when a URI is invalid, then the error says why`() async throws {
                for (uri, code, word) in [
                    ("nonsense", .failed, "pkcs11:token=label"), ("pkcs11:token=%zz", .failed, "pkcs11:token=label"),
                    ("pkcs11:colour=green", .failed, "RFC 7512"),
                    ("pkcs11:token=%zz?pin-value=4711", .failed, "pkcs11:token=label"),
                    ("pkcs11:colour=green?pin-value=4711", .failed, "RFC 7512"),
                    ("token=mine?pin-value=4711", .failed, "pkcs11:token=label"),
                    ("pkcs11:?module-path=/nowhere/module.so", .unavailable, "/nowhere/module.so"),
                    ("pkcs11:?module-name=nobody", .unavailable, "nobody"),
                ] as [(String, BiometricError.Code, String)] {
                    let error = await #expect(throws: BiometricError.self) { _ = try await PKCS11Tokens.list(uri: uri) }
                    #expect(error?.code == code)
                    #expect(error?.description.contains(word) == true)
                    var whole = ""
                    dump(error, to: &whole)
                    #expect(!whole.contains("4711"))
                    guard case .unusable = await PKCS11Provider(uri).availability(of: nil) else {
                        Issue.record("\(uri) means no token.")
                        continue
                    }
                }
            }
        }
    }
#endif
