import Foundation
import HTTPTypes
import Testing
import VaultHTTP

@testable import OpenIDConnect

/// Keys with false data, and key sets that are not valid.
@Suite("Faults: keys")
struct KeyFaultTests {
    let app: NativeApp

    init() async throws {
        app = try await NativeApp()
    }

    @Test(arguments: [0, 1, 2])
    func `when keys share a kid, then the right one counts`(position: Int) async throws {
        let key = TestKey.es256()
        var keys = [TestKey.es256(), TestKey.es256()]
        keys.insert(key, at: position)
        app.provider.sign(with: key, publishing: keys)
        #expect(try await app.signIn().idToken != nil)
        #expect(app.provider.requests(to: .keys).count == 1)
    }

    @Test func `when no key of a kid fits, then verification fails`() async {
        app.provider.sign(with: .es256(), publishing: [.es256(), .es256()])
        await app.expectRefusal { _ in }
    }

    static let strangeKeyIDs = [
        "../../../../dev/null", "/etc/passwd", "..\\..\\key", "k1' OR '1'='1", "https://evil.example/keys", "K1", "k1 ",
        "", "*", "k1\u{0}", "\u{202E}1k", String(repeating: "k", count: 100_000),
    ]

    @Test(arguments: strangeKeyIDs)
    func `when a strange kid is unknown, then verification fails`(keyID: String) async {
        await app.expectRefusal { $0.header["kid"] = keyID }
        #expect(app.provider.requests(to: .keys).count == 1)
        #expect(app.provider.requests(to: .elsewhere).allSatisfy { $0.request.target == "/fence" })
    }

    @Test(arguments: strangeKeyIDs)
    func `when a strange kid is published, then its key counts`(keyID: String) async throws {
        let key = TestKey.es256(keyID: keyID)
        app.provider.sign(with: key, publishing: [.es256(keyID: "k1"), key])
        #expect(try await app.signIn().idToken != nil)
    }

    @Test(arguments: ["7", "null", #"["k1"]"#, #"{"k1":1}"#, "true"])
    func `when the kid is no text, then verification fails`(text: String) async {
        await app.expectRefusal { $0.headerText = #"{"alg":"ES256","kid":\#(text)}"# }
    }

    @Test(
        arguments: [
            ["kty": "RSA"], ["kty": "oct"], ["kty": "OKP"], ["kty": "ec"], ["crv": "P-384"], ["crv": "secp256k1"],
            ["use": "enc"], ["alg": "ES384"], ["alg": "ECDH-ES"], ["x": "AA"], ["y": ""],
        ])
    func `when the kid's key is unfit, then verification fails`(change: [String: String]) async {
        app.provider.alter { alterations in
            alterations.keys = { keys in for (name, value) in change { keys[0][name] = value } }
        }
        await app.expectFault(.tokenInvalid) { _ = try await app.signIn() }
    }

    @Test func `when a key may only sign, then verification fails`() async {
        app.provider.alter { $0.keys = { $0[0]["key_ops"] = ["sign"] } }
        await app.expectFault(.tokenInvalid) { _ = try await app.signIn() }
    }

    @Test(arguments: [true, false])
    func `when the key type mismatches, then verification fails`(isPublishedRSA: Bool) async throws {
        let (rsa, ec) = (try await TestKey.rsa("RS256"), TestKey.es256())
        app.provider.sign(with: isPublishedRSA ? ec : rsa, publishing: [isPublishedRSA ? rsa : ec])
        await app.expectRefusal { _ in }
    }

    @Test(
        arguments: [
            (HTTPAnswer.text("<html>"), OpenIDConnectError.Code.invalidAnswer), (.text(""), .invalidAnswer),
            (.text("[]"), .invalidAnswer), (.text("{}"), .invalidAnswer), (.text(#"{"keys":{}}"#), .invalidAnswer),
            (.text(#"{"keys":null}"#), .invalidAnswer), (.text(#"{"keys":[]}"#), .tokenInvalid),
            (.text(#"{"keys":[7,null,"k1",[],{}]}"#), .tokenInvalid), (.text("", status: 404), .invalidAnswer),
            (.text("", status: 204), .invalidAnswer), (.text("", status: 500), .unavailable),
            (.text("", status: 429), .unavailable),
            (.text(String(repeating: " ", count: 1 << 21)), .invalidAnswer),
        ])
    func `when key sets are unusable, then the error tells why`(
        answer: HTTPAnswer, code: OpenIDConnectError.Code
    ) async {
        app.provider.alter { $0.replies[.keys] = { _ in .answer(answer) } }
        let error = await app.expectFault(code) { _ = try await app.signIn() }
        #expect(error?.mayHaveBeenProcessed == true)
        #expect(app.provider.requests(to: .keys).count == 1)
    }

    @Test func `when the key set redirects, then it is not followed`() async {
        let trap = app.provider.origin + "/trap"
        app.provider.alter { alterations in
            alterations.replies[.keys] = { _ in
                var answer = HTTPAnswer.text("", status: 302)
                answer.headerFields[.location] = trap
                return .answer(answer)
            }
        }
        await app.expectFault(.invalidAnswer) { _ = try await app.signIn() }
    }

    @Test func `when the key set is cut off, then sign-in fails`() async {
        app.provider.alter { $0.replies[.keys] = { .truncated($0) } }
        await app.expectFault(.interrupted) { _ = try await app.signIn() }
    }
}
