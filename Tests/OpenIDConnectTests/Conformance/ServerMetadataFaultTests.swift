import Testing
import VaultHTTP

@testable import OpenIDConnect

/// The second document about a provider (RFC 8414). It may only replace or complete the first document.
@Suite("Faults: RFC 8414 metadata")
struct ServerMetadataFaultTests {
    let app: NativeApp

    init() async throws {
        app = try await NativeApp()
    }

    @Test func `when only RFC 8414 metadata exists, then the sign-in succeeds`() async throws {
        app.provider.offer { $0.documents = [.serverMetadata] }
        #expect(try await app.signIn().idToken != nil)
        #expect(app.provider.requests(to: .serverMetadata).count == 1)
    }

    @Test(arguments: ["https://other.example", "", "/"])
    func `when the RFC 8414 issuer differs, then the sign-in fails`(text: String) async {
        app.provider.offer { $0.documents = [.serverMetadata] }
        app.provider.alter { $0.serverMetadata = { $0["issuer"] = text } }
        await app.expectFault(.invalidAnswer) { _ = try await app.signIn() }
    }

    @Test func `when RFC 8414 metadata differs, then discovery prevails`() async throws {
        let trap = app.provider.origin + "/trap"
        app.provider.offer { $0.documents = [.discovery, .serverMetadata] }
        app.provider.alter { alterations in
            alterations.serverMetadata = { members in
                for name in members.keys where name.hasSuffix("_endpoint") || name == "jwks_uri" {
                    members[name] = trap
                }
            }
        }
        let tokens = try await app.signIn()
        #expect(try await app.userinfo(tokens).subject == MisbehavingProvider.subject)
        #expect(app.provider.requests(to: .trap).isEmpty)
    }

    @Test(arguments: [true, false])
    func `when issuers match, then RFC 8414 metadata fills gaps`(isSameIssuer: Bool) async throws {
        app.provider.offer { $0.documents = [.discovery, .serverMetadata] }
        app.provider.alter { alterations in
            alterations.metadata = { $0["userinfo_endpoint"] = nil }
            alterations.serverMetadata = { if !isSameIssuer { $0["issuer"] = "https://other.example" } }
        }
        let tokens = try await app.signIn()
        let code = await errorCode { _ = try await app.userinfo(tokens) }
        #expect(code == (isSameIssuer ? nil : .unsupported))
    }

    @Test func `when RFC 8414 metadata is broken, then the sign-in succeeds`() async throws {
        let replies: [@Sendable (HTTPAnswer) -> LoopbackServer.Reply] = [
            { _ in .answer(.text("<html>")) }, { _ in .answer(.text("", status: 500)) }, { .truncated($0) },
            { _ in .closed }, { _ in .answer(.text(String(repeating: " ", count: 1 << 21))) },
        ]
        for reply in replies {
            let app = try await NativeApp()
            app.provider.offer { $0.documents = [.discovery, .serverMetadata] }
            app.provider.alter { $0.replies[.serverMetadata] = { reply($0) } }
            #expect(try await app.signIn().idToken != nil)
        }
    }
}
