import Testing

@testable import OpenIDConnect

/// The modules of the Config RP profile.
@Suite("Conformance: Config RP")
struct ConfigurationTests {
    let app: NativeApp

    init() async throws {
        app = try await NativeApp()
    }

    @Test("oidcc-client-test-discovery-openid-config")
    func discovery() async throws {
        app.provider.alter { alterations in
            alterations.metadata = { $0["authorization_endpoint"] = "\($0["authorization_endpoint"] ?? "")?tenant=1" }
        }
        _ = try await app.signIn()
        #expect(app.provider.log.first?.endpoint == .discovery)
        #expect(app.provider.requests(to: .discovery).count == 1)
        #expect(app.provider.requests(to: .authorization).first?.parameters["tenant"] == "1")
    }

    @Test("oidcc-client-test-discovery-jwks-uri-keys")
    func keys() async throws {
        _ = try await app.signIn()
        #expect(app.provider.requests(to: .keys).count == 1)
    }

    @Test("oidcc-client-test-discovery-issuer-mismatch")
    func issuerMismatch() async {
        app.provider.alter { alterations in alterations.metadata = { $0["issuer"] = "https://other.example" } }
        await app.expectFault(.invalidAnswer) { _ = try await app.signIn() }
    }

    @Test("oidcc-client-test-signing-key-rotation")
    func rotation() async throws {
        _ = try await app.signIn()
        let next = TestKey.es256(keyID: "k2")
        app.provider.sign(with: next, publishing: [next])
        #expect(try await app.signIn().idToken != nil)
        #expect(app.provider.requests(to: .keys).count == 2)
    }

    @Test("oidcc-client-test-signing-key-rotation-just-before-signing")
    func rotationBeforeSigning() async throws {
        await app.client.warmUp()
        let request = try await app.start()
        let callback = try await app.callback(of: request)
        let next = TestKey.es256(keyID: "k2")
        app.provider.sign(with: next, publishing: [next])
        #expect(try await app.client.redeem(request, callback: callback).idToken != nil)
        #expect(app.provider.requests(to: .keys).count == 2)
    }
}
