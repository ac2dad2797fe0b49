import Foundation
import HTTPTypes
import KeyServiceClient
import TestSupport
import Testing
import VaultBase
import VaultHTTP
import VaultTesting

/// The calls about devices over HTTP, also to a hostile service.
struct HTTPDeviceListServiceTests {
    private static let id = "0190f3a2-5b1c-4d7e-8a61-3c2f9e7d4b10"
    private let sent = Sent()

    private final class Sent: Sendable {
        private let requests = Lock<[(HTTPRequest, [UInt8])]>([])
        var all: [(HTTPRequest, [UInt8])] { requests.withLock { $0 } }
        func add(_ request: HTTPRequest, _ body: [UInt8]) { requests.withLock { $0.append((request, body)) } }
    }

    private func service(
        _ status: HTTPResponse.Status, _ body: String, contentType: String = "application/json"
    ) throws -> HTTPDeviceListService {
        let answer = HTTPAnswer(status: status, headerFields: [.contentType: contentType], body: Array(body.utf8))
        return try HTTPDeviceListService(
            baseURL: "https://keys.example/base",
            transport: FakeTransport { [sent] request, body in
                sent.add(request, body)
                return answer
            })
    }

    @Test func `when a list arrives, then all its keys are read`() async throws {
        let service = try service(
            .ok,
            #"{"devices":[{"id":"\#(Self.id)","label":"AAEC","created_at":5,"last_used_at":6,"locked":true},{"id":"\#(Self.id)","created_at":7,"locked":false}]}"#
        )
        let keys = try await service.listedKeys(accessToken: OwnerToken("tok-en.1"))
        let five = Date(timeIntervalSince1970: 5)
        #expect(
            keys == [
                ListedKey(id: Self.id, label: [0, 1, 2], createdAt: five, lastUsedAt: five + 1, isLocked: true),
                ListedKey(id: Self.id, label: nil, createdAt: five + 2, lastUsedAt: nil, isLocked: false),
            ])
        let (request, body) = try #require(sent.all.first)
        #expect(request.path == "/base/keyservice/v2/devices" && request.method == .post)
        #expect(
            request.headerFields[.authorization] == "Bearer tok-en.1" && String(decoding: body, as: UTF8.self) == "{}")
    }

    @Test func `when a proxy answers, then the claim time is unavailable`() async throws {
        let strict = #"{"versions":[2],"devices":true,"claim_within":86400}"#
        #expect(try await service(.ok, strict).claimTime() == .seconds(86_400))
        #expect(try await service(.ok, #"{"versions":[2]}"#).claimTime() == nil)
        for (status, body) in [(HTTPResponse.Status.notFound, "{}"), (.forbidden, ""), (.ok, "<html>Log in</html>")] {
            #expect(
                await thrown(\KeyServiceError.code) { _ = try await service(status, body).claimTime() } == .unavailable)
        }
    }

    @Test func `when keys are claimed, renamed or revoked, then paths match`() async throws {
        let service = try service(.ok, "{}")
        try await service.claimKey(id: Self.id, signature: [255], accessToken: OwnerToken("t"))
        try await service.renameKey(id: Self.id, label: [0, 1, 2], accessToken: OwnerToken("t"))
        try await service.revokeKey(id: Self.id, accessToken: OwnerToken("t"))
        let all = sent.all.map { "\($0.path ?? "") \(String(decoding: $1, as: UTF8.self))" }
        #expect(
            all == [
                #"/base/keyservice/v2/keys/\#(Self.id)/claim {"signature":"_w"}"#,
                #"/base/keyservice/v2/devices/\#(Self.id)/rename {"label":"AAEC"}"#,
                "/base/keyservice/v2/devices/\(Self.id)/revoke {}",
            ])
    }

    @Test(arguments: [
        (#"{"versions":[2],"devices":true}"#, true), (#"{"versions":[2],"devices":false}"#, false),
        (#"{"versions":[2]}"#, false), ("<html>", false),
    ])
    func `when list support is checked, then the service's answer decides`(body: String, keeps: Bool) async throws {
        #expect(try await service(.ok, body).keepsLists() == keeps)
        #expect(sent.all.allSatisfy { $0.0.headerFields[.authorization] == nil && $0.0.method == .get })
        let busy = try service(.serviceUnavailable, body)
        #expect(await thrown(\KeyServiceError.code) { _ = try await busy.keepsLists() } == .busy)
    }

    @Test(arguments: [
        (401, "invalid_token", KeyServiceError.Code.invalidToken), (401, "unauthorized", .noSuchKey),
        (401, "invalid_dpop_proof", .invalidProof), (401, "sign_in_again", .signInTooOld),
        (403, "unlocked_today", .unlockedToday), (403, "locked", .keyLocked),
        (404, "no_such_device", .noSuchDevice), (404, "no_such_path", .noDeviceLists),
        (409, "conflict", .ownedByAnother),
        (409, "unfinished", .unfinished), (410, "revoked", .keyRevoked), (410, "ended", .keyEnded),
        (410, "destroyed", .keyDestroyed), (503, "busy", .busy), (500, "failed", .unavailable),
        (400, "invalid_request", .invalidAnswer), (404, "unauthorized", .invalidAnswer),
        (401, "new_code", .invalidAnswer),
    ])
    func `when a service refuses a claim, then the code fits`(
        status: Int, word: String, expected: KeyServiceError.Code
    ) async throws {
        let service = try service(
            .init(code: status), #"{"status":\#(status),"title":"T","code":"\#(word)"}"#,
            contentType: "application/problem+json")
        #expect(
            await thrown(\KeyServiceError.code) {
                try await service.claimKey(id: Self.id, signature: [], accessToken: OwnerToken("t"))
            } == expected)
    }

    @Test func `when a service wants a nonce, then the proof has it`() async throws {
        let asked = Lock(0)
        let service = try HTTPDeviceListService(
            baseURL: "https://keys.example/base/",
            transport: FakeTransport { [sent] request, body in
                sent.add(request, body)
                let isFirst = asked.withLock { count in
                    defer { count += 1 }
                    return count == 0
                }
                guard isFirst else {
                    return HTTPAnswer(
                        status: .ok, headerFields: [.contentType: "application/json"], body: Array("{}".utf8))
                }
                var fields: HTTPFields = [.wwwAuthenticate: #"DPoP error="use_dpop_nonce""#]
                if let name = HTTPField.Name("DPoP-Nonce") { fields[name] = "n-1" }
                return HTTPAnswer(status: .unauthorized, headerFields: fields, body: [])
            })
        let token = OwnerToken("t") { method, url, nonce in "\(method) \(url) \(nonce ?? "none")" }
        try await service.revokeKey(id: Self.id, accessToken: token)
        let url = "https://keys.example/base/keyservice/v2/devices/\(Self.id)/revoke"
        let name = try #require(HTTPField.Name("DPoP"))
        #expect(sent.all.map { $0.0.headerFields[name] } == ["POST \(url) none", "POST \(url) n-1"])
        #expect(sent.all.allSatisfy { $0.0.headerFields[.authorization] == "DPoP t" })
    }

    @Test func `when a token is malformed, then nothing is sent`() async throws {
        let service = try service(.ok, #"{"devices":[]}"#)
        for token in ["a\r\nHost: b", "a b", "é"] {
            #expect(
                await thrown(\KeyServiceError.code) { _ = try await service.listedKeys(accessToken: OwnerToken(token)) }
                    == .invalidToken)
        }
        #expect(sent.all.isEmpty)
    }

    @Test(arguments: [
        "../../v1/key", "", "0190F3A2-5B1C-4D7E-8A61-3C2F9E7D4B10", "0190f3a2-5b1c-4d7e-8a61-3c2f9e7d4b10/x",
    ])
    func `when a listed ID is malformed, then listing fails`(id: String) async throws {
        let service = try service(.ok, #"{"devices":[{"id":"\#(id)","created_at":5,"locked":true}]}"#)
        #expect(
            await thrown(\KeyServiceError.code) { _ = try await service.listedKeys(accessToken: OwnerToken("t")) }
                == .invalidAnswer
        )
    }

    @Test func `when a proxy answers with HTML, then listing fails`() async throws {
        let service = try service(.ok, #"{"devices":[]}"#, contentType: "text/html")
        #expect(
            await thrown(\KeyServiceError.code) { _ = try await service.listedKeys(accessToken: OwnerToken("t")) }
                == .invalidAnswer
        )
    }
}
