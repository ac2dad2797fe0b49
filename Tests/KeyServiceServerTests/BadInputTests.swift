import Foundation
import HummingbirdTesting
import KeyServiceAPI
import KeyServiceAudit
import KeyServiceCore
import Testing

@Suite struct BadInputTests {
    struct Input: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let body: [UInt8]
        var contentType: String? = "application/json"

        init(_ name: String, _ body: [UInt8], contentType: String? = "application/json") {
            testDescription = name
            self.body = body
            self.contentType = contentType
        }

        init(_ text: String, contentType: String? = "application/json") {
            self.init(String(text.prefix(60)), Array(text.utf8), contentType: contentType)
        }
    }

    /// Bad for both calls.
    static let inputs = [
        Input(""), Input(" "), Input("{"), Input("null"), Input("[]"), Input("1"), Input("\"secret\""), Input("{}"),
        Input("{\"secret\":"), Input("{\"secret\":\"a\"} x"), Input("{'secret':'a','keyid':'k'}"),
        Input(#"{"keyid":"k","secret":1}"#), Input(#"{"keyid":"k","secret":true}"#),
        Input(#"{"keyid":"k","secret":null}"#), Input(#"{"keyid":"k","secret":["a"]}"#),
        Input(#"{"keyid":"k","secret":{"a":"b"}}"#), Input(#"{"keyid":"k","secret":""}"#),
        Input(#"{"keyid":"k","Secret":"a"}"#), Input(#"{"keyid":"k","secret":"a\u0000b"}"#),
        Input(#"{"keyid":"k","secret":"\ud800"}"#), Input(#"{"keyid":"k","secret":"a\x"}"#),
        Input("NUL", Array("{\"keyid\":\"k\",\"secret\":\"a\0b\"}".utf8)),
        Input("only NULs", Array(repeating: 0, count: 100)),
        Input("invalid UTF-8", Array("{\"keyid\":\"k\",\"secret\":\"".utf8) + [0xFF, 0xC0, 0x80] + Array("\"}".utf8)),
        Input("overlong UTF-8", Array("{\"keyid\":\"k\",\"secret\":\"".utf8) + [0xC0, 0xAF] + Array("\"}".utf8)),
        Input("UTF-16", [0xFF, 0xFE] + Array("{}".utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] })),
        Input("deep", Array(repeating: UInt8(ascii: "["), count: 16_000)),
        Input("deep objects", Array(String(repeating: "{\"a\":", count: 3_000).utf8)),
        Input("17 KiB", Array("{\"keyid\":\"k\",\"secret\":\"\(String(repeating: "a", count: 17 * 1024))\"}".utf8)),
        Input("10 MB", Array(repeating: UInt8(ascii: "a"), count: 10_000_000)),
        Input(#"{"keyid":"k","secret":"a"}"#, contentType: nil),
        Input(#"{"keyid":"k","secret":"a"}"#, contentType: "text/plain"),
        Input("keyid=k&secret=a", contentType: "application/x-www-form-urlencoded"),
        Input(#"{"keyid":"k","secret":"a"}"#, contentType: "application/jsonx"),
        Input(#"{"keyid":"k","secret":"a"}"#, contentType: ""),
    ]

    /// Bad for `key` alone.
    static let keyInputs = [
        Input(#"{"secret":"a"}"#), Input(#"{"keyid":"k"}"#), Input(#"{"keyid":"","secret":"a"}"#),
        Input(#"{"keyid":1,"secret":"a"}"#), Input(#"{"keyid":null,"secret":"a"}"#),
        Input(#"{"keyid":"k","secret":"a","longsecret":"b"}"#), Input(#"{"keyid":"k","longsecret":""}"#),
        Input(#"{"keyid":"k","longsecret":7}"#), Input(#"{"keyid":"k","longsecret":"a\u0000"}"#),
        Input(#"{"keyid":"a b","secret":"a"}"#), Input(#"{"keyid":"a\nb","secret":"a"}"#),
        Input(#"{"keyid":"'; DROP TABLE key_record; --","secret":"a"}"#), Input(#"{"keyid":"\u0000","secret":"a"}"#),
        Input("huge key id", Array("{\"secret\":\"a\",\"keyid\":\"\(String(repeating: "k", count: 15_000))\"}".utf8)),
    ]

    /// JSON that some readers accept, and others refuse or read differently.
    static let ambiguous = [
        Input(#"{"keyid":"KEY","secret":"SECRET","secret":"wrong"}"#),
        Input(#"{"keyid":"KEY","secret":"wrong","secret":"SECRET"}"#),
        Input(#"{"keyid":"KEY","keyid":"KEY","secret":"SECRET"}"#),
        Input(#"{"keyid":"KEY","secret":"SECRET","\u0073ecret":"SECRET"}"#),
        Input(#"{"keyid":"KEY","secret":"SECRET","x":{"a":1,"a":2}}"#),
        Input(#"{"keyid":"KEY","secret":"SECRET",}"#), Input(#"{,"keyid":"KEY","secret":"SECRET"}"#),
        Input(#"{"keyid":"KEY","secret":"SECRET","x":[1,]}"#), Input(#"{"keyid":"KEY","secret":"SECRET"}}"#),
        Input(#"{"keyid":"KEY","secret":"SECRET"} {}"#), Input(#"{"keyid":"KEY","secret":"SECRET"}x"#),
        Input(#"{"keyid":"KEY","secret":"SECRET"} // x"#), Input(#"{keyid:"KEY","secret":"SECRET"}"#),
        Input(#"{'keyid':"KEY","secret":"SECRET"}"#), Input(#"{"keyid":"KEY","secret":"SECRET","x":NaN}"#),
        Input(#"{"keyid":"KEY","secret":"SECRET","x":01}"#), Input(#"{"keyid":"KEY","secret":"SECRET","x":1e999}"#),
        Input(#"{"keyid":"KEY","secret":"SECRET","x":"\ud800"}"#), Input(#"[{"keyid":"KEY","secret":"SECRET"}]"#),
        Input(#"{"keyid":"KEY","secret":["SECRET"]}"#), Input(#"{"keyid":["KEY"],"secret":"SECRET"}"#),
        Input(#"{"keyid":"KEY","secret":"SECRET","longsecret":7}"#), Input(#"{"keyid":"KEY","secret":1234}"#),
        Input(#"{"keyid":"KEY","secret":true}"#),
        Input(
            #"{"keyid":"KEY","secret":"SECRET","x":"# + String(repeating: "[", count: 40)
                + String(repeating: "]", count: 40) + "}"),
    ]

    @Test(arguments: ambiguous) func `when a request is ambiguous, then the answer is 400`(input: Input) async throws {
        try await withService { client async throws in
            let made = try await client.createKey(strongSecret)
            let text = String(decoding: input.body, as: UTF8.self)
                .replacing("KEY", with: made.keyid).replacing("SECRET", with: strongSecret)
            #expect(try await client.post(KeyServicePath.key, Array(text.utf8)).status == 400)
            // The service counted none of them as a guess.
            #expect(try await client.key(made.keyid, secret: "wrong").problem?.guessesRemaining == 2)
        }
    }

    @Test(arguments: [String.Encoding.utf16, .utf16LittleEndian, .utf16BigEndian, .utf32])
    func `when requests are not UTF-8, then the answer is 400`(encoding: String.Encoding) async throws {
        let body = try #require(#"{"secret":"1234"}"#.data(using: encoding))
        try await withService { client async throws in
            #expect(try await client.post(KeyServicePath.createKey, body).status == 400)
        }
    }

    @Test(arguments: inputs) func `when a body is bad, then both calls refuse it`(input: Input) async throws {
        try await check(input, paths: [KeyServicePath.createKey, KeyServicePath.key])
    }

    @Test(arguments: keyInputs) func `when a key request is bad, then release refuses it`(input: Input) async throws {
        try await check(input, paths: [KeyServicePath.key])
    }

    private func check(_ input: Input, paths: [String]) async throws {
        try await withService { client async throws in
            for path in paths {
                let reply = try await client.post(path, input.body, contentType: input.contentType)
                #expect([400, 413, 415, 422].contains(reply.status), "\(path)")
                #expect(reply.problem?.error == "invalid_request")
                #expect(reply.header("Cache-Control") == "no-store")
            }
            let made = try await client.createKey(strongSecret)
            #expect(try await client.key(made.keyid, secret: strongSecret).status == 200)
        }
    }

    @Test func `when a request has spare fields, then it is accepted`() async throws {
        try await withService { client async throws in
            let body = Array(#"{"secret":"1234","comment":{"a":[1,null]}}"#.utf8)
            for contentType in ["application/json; charset=utf-8", "Application/JSON", "application/json ;x=y"] {
                let reply = try await client.post(KeyServicePath.createKey, body, contentType: contentType)
                #expect(reply.status == 200)
            }
        }
    }

    @Test func `when a body is huge, then the server keeps running`() async throws {
        try await withService(setup: .ahc(.http)) { client async throws in
            // The service answers and closes the connection, perhaps before this client has sent everything.
            let reply = try? await client.post(
                KeyServicePath.createKey, [UInt8](repeating: UInt8(ascii: "a"), count: 10_000_000))
            #expect(reply == nil || reply?.status == 413)
            #expect(try await client.get("/healthz").status == 200)
        }
    }

    @Test(arguments: ["demo", "/a b", "/a?b", "/ä"])
    func `when the base path is invalid, then starting fails`(path: String) async throws {
        await #expect(throws: KeyServiceServerError.self) {
            try await withService(basePath: path) { _ in }
        }
    }
}
