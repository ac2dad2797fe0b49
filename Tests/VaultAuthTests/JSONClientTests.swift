import CredentialVault
import Foundation
import HTTPTypes
import Testing
import VaultTesting

/// Requests with JSON below a base URL.
@Suite struct JSONClientTests {
    private struct Note: Codable, Equatable {
        var text: String
        var at = Date(timeIntervalSince1970: 1_800_000_000)
    }

    private static let base = "https://api.example.com/v1"
    private let test = TestVault()

    private func client(_ network: FakeTransport) async throws -> JSONClient {
        let id = try await test.addAccount("alice", password: "tea at half past four")
        try await test.auth.login(id, with: .password(SecretBytes(utf8: "tea at half past four")))
        return try test.auth.authorizedTransport(baseURL: Self.base, over: network)
    }

    /// Sends each body back. Sends an empty object if there is no body.
    private static func mirror() -> FakeTransport {
        FakeTransport { _, body in HTTPAnswer(status: .ok, body: body.isEmpty ? Array("{}".utf8) : body) }
    }

    @Test func `when values are posted, then JSON and token are sent`() async throws {
        let network = Self.mirror()
        var api = try await client(network)
        api.headerFields[.accept] = "application/hal+json"
        #expect(try await api.post("notes", Note(text: "bandage"), as: Note.self) == Note(text: "bandage"))
        let sent = try #require(network.sent.last)
        #expect(String(decoding: sent.body, as: UTF8.self).contains("2027-01-15T08:00:00Z"))
        #expect(sent.request.headerFields[.contentType] == "application/json")
        #expect(sent.request.headerFields[values: .accept] == ["application/hal+json"])
        #expect(sent.request.headerFields[.authorization]?.hasPrefix("Bearer access-alice") == true)
    }

    @Test(arguments: [
        ("notes", "/v1/notes"), ("/notes/7?full=1", "/v1/notes/7?full=1"),
        ("//elsewhere.example/x", "/v1/elsewhere.example/x"),
        ("https://API.example.com:443/v2?page=2", "/v2?page=2"), ("group%2Fproject", "/v1/group%2Fproject"),
        ("", "/v1/"),
    ]) func `when paths fit the base URL, then requests use them`(_ path: String, _ expected: String) async throws {
        let network = Self.mirror()
        let api = try await client(network)
        try await api.delete(path)
        #expect(network.sent.last?.request.path == expected)
        #expect(network.sent.last?.request.authority == "api.example.com")
        #expect(network.sent.last?.request.headerFields[.accept] == "application/json")
        #expect(network.sent.last?.request.headerFields[.contentType] == nil)
    }

    @Test(arguments: [
        "https://elsewhere.example/notes", "http://api.example.com/notes", "https://api.example.com:8443/", "../admin",
        "a/%2E%2e/admin", "a/..%2Fadmin", "a/..%5cadmin", "a b", "a\r\nHost: x", "a#b", "a\\b",
        "https://me@api.example.com/",
    ]) func `when paths leave the base URL, then nothing is sent`(_ path: String) async throws {
        let network = Self.mirror()
        let api = try await client(network)
        let error = await #expect(throws: HTTPError.self) { _ = try await api.send(.get, path) }
        #expect(error?.code == .outsideBaseURL)
        #expect(network.sent.isEmpty)
    }

    @Test func `when a query has special characters, then they are escaped`() async throws {
        let network = Self.mirror()
        let api = try await client(network)
        _ = try await api.send(.get, "find?in=all", query: ["q": "a&b=ü", "n": "1"])
        #expect(network.sent.last?.request.path == "/v1/find?in=all&q=a%26b%3D%C3%BC&n=1")
    }

    @Test func `when answers refuse, redirect or mismatch, then errors are thrown`() async throws {
        let api = try await client(
            FakeTransport { request, _ in
                switch request.path {
                case "/v1/gone":
                    HTTPAnswer(
                        status: .notFound, headerFields: [.contentType: "application/json"],
                        body: Array(#"{"message":"No such note."}"#.utf8))
                case "/v1/moved": HTTPAnswer(status: .found, headerFields: [.location: "https://elsewhere.example/"])
                default: HTTPAnswer(status: .ok, body: Array(#"{"text":"secret-of-the-body"}"#.utf8))
                }
            })
        let gone = await #expect(throws: HTTPStatusError.self) { try await api.get("gone", as: Note.self) }
        #expect(gone?.message == "No such note.")
        let moved = await #expect(throws: HTTPStatusError.self) { try await api.get("moved", as: Note.self) }
        #expect(moved?.status == 302)
        let other = await #expect(throws: HTTPError.self) { try await api.get("other", as: Note.self) }
        #expect(other?.code == .unexpectedAnswer)
        #expect(!"\(other as Any)".contains("secret-of-the-body"))
    }

    @Test(arguments: [
        (#"{"error":"validation_error","message":"No blanks."}"#, "No blanks."),
        (#"{"error":"No blanks."}"#, "No blanks."),
        (#"{"error":{"message":"No blanks."}}"#, "No blanks."),
    ]) func `when a refusal has words, then they are its message`(body: String, words: String) async throws {
        let api = try await client(
            FakeTransport { _, _ in
                HTTPAnswer(
                    status: .unprocessableContent, headerFields: [.contentType: "application/json"],
                    body: Array(body.utf8))
            })
        let error = await #expect(throws: HTTPStatusError.self) { try await api.get("notes", as: Note.self) }
        #expect(error?.message == words)
    }

    @Test(arguments: ["api.example.com", "http://api.example.com", "https://api.example.com/?a=1", "ftp://a", ""])
    func `when a base URL is unsafe, then it is refused`(_ url: String) async throws {
        let error = #expect(throws: VaultError.self) { try test.auth.authorizedTransport(baseURL: url) }
        #expect(error?.code == .configurationInvalid)
    }
}
