import Foundation
import Testing
import VaultBase
import VaultHTTP

@testable import OpenIDConnect

/// The modules that end with user information, or with a refresh before it.
@Suite("Conformance: user information")
struct UserinfoConformanceTests {
    let app: NativeApp

    init() async throws {
        app = try await NativeApp()
    }

    // Module: oidcc-client-test
    @Test func `when a flow completes, then only needed requests are sent`() async throws {
        let tokens = try await app.signIn()
        #expect(tokens.idToken?.subject == MisbehavingProvider.subject)
        #expect(try await app.userinfo(tokens).subject == MisbehavingProvider.subject)
        #expect(
            app.provider.log.map(\.endpoint).filter { $0 != .serverMetadata }
                == [.discovery, .authorization, .token, .keys, .userinfo])
    }

    // Module: oidcc-client-test-userinfo-bearer-header
    @Test func `when userinfo is requested, then the header carries the token`() async throws {
        let tokens = try await app.signIn()
        _ = try await app.userinfo(tokens)
        let sent = try #require(app.provider.requests(to: .userinfo).first?.request)
        #expect(sent.field("Authorization") == "Bearer \(tokens.accessToken)")
        #expect(!sent.target.contains("?"))
        #expect(sent.body.isEmpty)
    }

    // Module: oidcc-client-test-userinfo-invalid-sub
    @Test func `when the subject is wrong, then the answer is refused`() async throws {
        let tokens = try await app.signIn()
        app.provider.alter { $0.userinfo = { $0["sub"] = "mallory" } }
        await app.expectFault(.userInfoInvalid) { _ = try await app.userinfo(tokens) }
    }

    // Module: oidcc-client-test-userinfo-signed
    @Test func `when the answer is signed, then its claims are read`() async throws {
        let app = try await NativeApp(key: try await .rsa("RS256"))
        app.provider.offer { $0.signsUserinfo = true }
        let tokens = try await app.signIn(scopes: ["openid", "email"])
        let info = try await app.userinfo(tokens)
        #expect(info.email == "alice@id.example")
        #expect(info.subject == MisbehavingProvider.subject)
    }

    // Module: oidcc-client-test-scope-userinfo-claims
    @Test func `when scopes are requested, then their claims arrive`() async throws {
        let info = try await app.userinfo(try await app.signIn(scopes: ["openid", "profile", "email"]))
        #expect(app.provider.requests(to: .authorization).first?.parameters["scope"] == "openid profile email")
        #expect(info.name == "Alice")
        #expect(info.preferredUsername == "al")
        #expect(info.email == "alice@id.example")
        let less = try await app.userinfo(try await app.signIn())
        #expect(less.name == nil)
        #expect(less.email == nil)
    }

    // Module: oidcc-client-test-aggregated-claims
    @Test func `when claims are aggregated, then they are not merged`() async throws {
        app.provider.alter { alterations in
            alterations.userinfo = { claims in
                claims["_claim_names"] = ["email": "other", "address": "other"]
                claims["_claim_sources"] = ["other": ["JWT": "eyJhbGciOiJub25lIn0.eyJlbWFpbCI6InhAeS56In0."]]
            }
        }
        let info = try await app.userinfo(try await app.signIn())
        // The library returns a third party's claims unchanged. It does not treat them as the provider's claims.
        #expect(info.email == nil)
        let claims = try #require(JSONValue(objectIn: info.claimsJSON))
        #expect(claims["_claim_sources"]?["other"]?["JWT"]?.string?.hasPrefix("eyJ") == true)
    }

    @Test func `when claims are distributed, then they are not fetched`() async throws {
        let trap = app.provider.origin + "/trap"
        app.provider.alter { alterations in
            alterations.userinfo = { claims in
                claims["_claim_names"] = ["credit_score": "other"]
                claims["_claim_sources"] = ["other": ["endpoint": trap, "access_token": "x"]]
            }
        }
        let info = try await app.userinfo(try await app.signIn())
        #expect(info.subject == MisbehavingProvider.subject)
        #expect(app.provider.requests(to: .trap).isEmpty)
    }

    // Module: oidcc-client-test-refresh-token
    @Test func `when access tokens end, then a refresh renews them`() async throws {
        let tokens = try await app.signIn(scopes: ["openid", "offline_access"])
        app.provider.endAccessTokens()
        let refreshed = try await app.refresh(tokens)
        #expect(refreshed.accessToken != tokens.accessToken)
        #expect(refreshed.idToken?.subject == MisbehavingProvider.subject)
        #expect(try await app.userinfo(refreshed).subject == MisbehavingProvider.subject)
    }

    // Module: oidcc-client-test-client-secret-basic
    @Test func `when a secret has special characters, then it is encoded`() async throws {
        // These characters change their meaning if they are not encoded first (RFC 6749 section 2.3.1).
        let (clientID, secret) = ("client:1", "s%cr+t: ä")
        app.provider.register(clientID, secret: secret)
        let app = NativeApp(
            at: app.provider, clientID: clientID, clientSecret: secret, tokenEndpointAuthMethod: "client_secret_basic")
        _ = try await app.refresh(try await app.signIn())
        for entry in app.provider.requests(to: .token) {
            #expect(entry.request.field("Authorization")?.hasPrefix("Basic ") == true)
            #expect(entry.parameters["client_secret"] == nil)
        }
    }
}
