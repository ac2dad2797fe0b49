import HTTPTypes
import Testing
import VaultHTTP

@testable import OpenIDConnect

/// Providers that accept pushed requests (RFC 9126), or only announce them.
@Suite("Faults: pushed requests")
struct PushedRequestFaultTests {
    let app: NativeApp

    init() async throws {
        app = try await NativeApp()
        app.provider.offer { $0.pushesRequests = true }
    }

    private static let refusals = [
        HTTPAnswer.text(#"{"error":"invalid_request"}"#, status: 400), .text("<html>", status: 404),
        .text("<html>hello</html>", status: 201), .text("[]", status: 201), .text("{}", status: 201),
        .text(#"{"request_uri":""}"#, status: 201), .text(#"{"request_uri":7}"#, status: 201),
        .text(#"{"request_uri":"a b"}"#, status: 201), .text(#"{"request_uri":"a\r\nLocation: b"}"#, status: 201),
        .text(#"{"request_uri":"\#(String(repeating: "u", count: 5000))"}"#, status: 201),
    ]

    @Test(arguments: refusals)
    func `when an optional push is refused, then the sign-in succeeds`(answer: HTTPAnswer) async throws {
        app.provider.alter { $0.replies[.pushedAuthorization] = { _ in .answer(answer) } }
        #expect(try await app.signIn().idToken != nil)
        let sent = try #require(app.provider.requests(to: .authorization).first)
        #expect(sent.parameters["request_uri"] == nil)
        #expect(app.provider.requests(to: .pushedAuthorization).count == 1)
    }

    @Test(arguments: refusals)
    func `when a required push is refused, then the sign-in fails`(answer: HTTPAnswer) async throws {
        app.provider.alter { alterations in
            alterations.metadata = { $0["require_pushed_authorization_requests"] = true }
        }
        _ = try await app.client.metadata()
        app.provider.alter { $0.replies[.pushedAuthorization] = { _ in .answer(answer) } }
        await app.expectFault(answer.status == .created ? .invalidAnswer : .refused) { _ = try await app.signIn() }
    }

    @Test func `when required pushing lacks an endpoint, then no request starts`() async {
        app.provider.offer { $0.pushesRequests = false }
        app.provider.alter { alterations in
            alterations.metadata = { $0["require_pushed_authorization_requests"] = true }
        }
        #expect(await errorCode { _ = try await app.start() } == .invalidAnswer)
        #expect(app.provider.requests(to: .authorization).isEmpty)
    }

    @Test func `when the push denies access, then the sign-in is denied`() async {
        app.provider.alter { alterations in
            alterations.replies[.pushedAuthorization] = { _ in
                .answer(.text(#"{"error":"access_denied"}"#, status: 403))
            }
        }
        await app.expectFault(.denied) { _ = try await app.signIn() }
    }

    @Test func `when the push answer breaks, then the sign-in fails`() async {
        let replies: [(OpenIDConnectError.Code, @Sendable (HTTPAnswer) -> LoopbackServer.Reply)] = [
            (.interrupted, { .truncated($0) }), (.interrupted, { _ in .closed }),
            (.invalidAnswer, { _ in .answer(.text(String(repeating: " ", count: 1 << 21), status: 201)) }),
        ]
        for (code, reply) in replies {
            app.provider.alter { $0.replies[.pushedAuthorization] = { reply($0) } }
            let error = await app.expectFault(code) { _ = try await app.signIn() }
            #expect(error?.mayHaveBeenProcessed == false)
        }
    }

    @Test(arguments: ["u&prompt=none&redirect_uri=x", "u#x", "u%26a=b"])
    func `when a reference contains parameters, then they stay encoded`(reference: String) async throws {
        app.provider.alter { $0.push = { $0["request_uri"] = reference } }
        let request = try await app.start()
        let query = String(request.url.drop { $0 != "?" }.dropFirst())
        #expect(
            MisbehavingProvider.parameters(query) == [
                "client_id": MisbehavingProvider.clientID, "request_uri": reference,
            ])
    }

    @Test(arguments: [302, 307, 308])
    func `when the push answer redirects, then it is not followed`(status: Int) async throws {
        let trap = app.provider.origin + "/trap"
        app.provider.alter { alterations in
            alterations.replies[.pushedAuthorization] = { _ in
                var answer = HTTPAnswer.text("", status: status)
                answer.headerFields[.location] = trap
                return .answer(answer)
            }
        }
        #expect(try await app.signIn().idToken != nil)
        #expect(app.provider.requests(to: .trap).isEmpty)
    }
}
