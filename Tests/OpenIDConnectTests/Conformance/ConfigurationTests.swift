import Testing

@testable import OpenIDConnect

/// The modules of the Config RP profile.
@Suite("Conformance: Config RP")
struct ConfigurationTests {
    let app: NativeApp

    init() async throws {
        app = try await NativeApp()
    }

    // Module: oidcc-client-test-discovery-openid-config
    @Test func `when a sign-in starts, then discovery provides the endpoints`() async throws {
        app.provider.alter { alterations in
            alterations.metadata = { $0["authorization_endpoint"] = "\($0["authorization_endpoint"] ?? "")?tenant=1" }
        }
        _ = try await app.signIn()
        #expect(app.provider.log.first?.endpoint == .discovery)
        #expect(app.provider.requests(to: .discovery).count == 1)
        #expect(app.provider.requests(to: .authorization).first?.parameters["tenant"] == "1")
    }

    // Module: oidcc-client-test-discovery-jwks-uri-keys
    @Test func `when a token is verified, then jwks_uri is fetched once`() async throws {
        _ = try await app.signIn()
        #expect(app.provider.requests(to: .keys).count == 1)
    }

    // Module: oidcc-client-test-discovery-issuer-mismatch
    @Test func `when the metadata issuer differs, then the sign-in fails`() async {
        app.provider.alter { alterations in alterations.metadata = { $0["issuer"] = "https://other.example" } }
        await app.expectFault(.invalidAnswer) { _ = try await app.signIn() }
    }

    // Module: oidcc-client-test-signing-key-rotation
    @Test func `when keys rotate between sign-ins, then the new key counts`() async throws {
        _ = try await app.signIn()
        let next = TestKey.es256(keyID: "k2")
        app.provider.sign(with: next, publishing: [next])
        #expect(try await app.signIn().idToken != nil)
        #expect(app.provider.requests(to: .keys).count == 2)
    }

    // Module: oidcc-client-test-signing-key-rotation-just-before-signing
    @Test func `when keys rotate mid-sign-in, then the new key counts`() async throws {
        await app.client.warmUp()
        let request = try await app.start()
        let callback = try await app.callback(of: request)
        let next = TestKey.es256(keyID: "k2")
        app.provider.sign(with: next, publishing: [next])
        #expect(try await app.client.redeem(request, callback: callback).idToken != nil)
        #expect(app.provider.requests(to: .keys).count == 2)
    }
}
