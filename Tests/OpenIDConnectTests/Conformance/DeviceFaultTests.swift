import Foundation
import HTTPTypes
import TestSupport
import Testing
import VaultHTTP

@testable import OpenIDConnect

/// Sign-ins on another device (RFC 8628) at a provider with faults.
@Suite("Faults: devices")
struct DeviceFaultTests {
    let app: NativeApp

    init() async throws {
        app = try await NativeApp()
    }

    private func signIn() async throws -> TokenSet {
        let device = try await app.client.authorizeDevice(scopes: ["openid"])
        return try await app.client.redeem(device, clock: HastyClock())
    }

    @Test func `when the device gets tokens, then polling stops`() async throws {
        app.provider.answerPolls(["authorization_pending", "slow_down", "authorization_pending", nil])
        let device = try await app.client.authorizeDevice(scopes: ["openid"])
        let clock = HastyClock()
        #expect(try await app.client.redeem(device, clock: clock).idToken?.subject == MisbehavingProvider.subject)
        #expect(clock.waits == [.seconds(5), .seconds(5), .seconds(10), .seconds(10)])
        #expect(app.provider.requests(to: .token).count == 4)
    }

    @Test(
        arguments: [
            ("access_denied", OpenIDConnectError.Code.denied), ("expired_token", .deviceCodeExpired),
            ("invalid_grant", .deviceCodeExpired), ("invalid_client", .refused), ("unauthorized_client", .refused),
        ])
    func `when the provider refuses the device, then polling stops`(
        error: String, code: OpenIDConnectError.Code
    ) async {
        app.provider.alter { alterations in
            alterations.replies[.token] = { _ in .answer(.text(#"{"error":"\#(error)"}"#, status: 400)) }
        }
        await app.expectFault(code) { _ = try await signIn() }
        #expect(app.provider.requests(to: .token).count == 1)
    }

    @Test func `when the device code expires, then polling stops`() async throws {
        app.provider.answerPolls(Array(repeating: "authorization_pending", count: 1000))
        #expect(await errorCode { _ = try await signIn() } == .deviceCodeExpired)
        #expect(app.provider.requests(to: .token).count == 120)
    }

    @Test(arguments: ["iss", "aud", "expired", "forged", "none", "sub", "hash"])
    func `when the ID token is wrong, then the sign-in fails`(kind: String) async {
        app.provider.alter { alterations in
            alterations.idToken = { draft in
                switch kind {
                case "iss": draft.claims["iss"] = "https://other.example"
                case "aud": draft.claims["aud"] = "other"
                case "expired": draft.claims["exp"] = 1_799_999_000
                case "forged": draft.key = .es256()
                case "none": draft.header["alg"] = "none"
                case "sub": draft.claims["sub"] = nil
                default: draft.claims["at_hash"] = draft.hash(of: "another access token")
                }
            }
        }
        await app.expectFault(.tokenInvalid) { _ = try await signIn() }
    }

    @Test(
        arguments: ["device_code", "user_code", "verification_uri"],
        [nil, "", 7, "a\r\nb", NSNull(), String(repeating: "x", count: 5000)] as [(any Sendable)?])
    func `when the device answer is unusable, then the sign-in fails`(member: String, value: (any Sendable)?) async {
        app.provider.alter { $0.device = { $0[member] = value } }
        await app.expectFault(.invalidAnswer) { _ = try await signIn() }
    }

    @Test(
        arguments: [
            "http://id.example/activate", "javascript:alert(1)", "file:///etc/passwd", "/activate", "https://a@b/",
        ])
    func `when a verification address is unsafe, then it is refused`(url: String) async throws {
        app.provider.alter { $0.device = { $0["verification_uri_complete"] = url } }
        #expect(try await app.client.authorizeDevice(scopes: ["openid"]).verificationURIComplete == nil)
        app.provider.alter { $0.device = { $0["verification_uri"] = url } }
        await app.expectFault(.invalidAnswer) { _ = try await signIn() }
    }

    @Test(arguments: [0, -1, 0.001, "soon", NSNull(), true, "NaN", 1e300] as [any Sendable])
    func `when the interval is odd, then it is bounded`(value: any Sendable) async throws {
        app.provider.alter { $0.device = { $0["interval"] = value } }
        let device = try await app.client.authorizeDevice(scopes: ["openid"])
        #expect((.seconds(1) ... .seconds(3600)).contains(device.interval))
    }
}
