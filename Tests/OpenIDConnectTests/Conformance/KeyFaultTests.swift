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

    @Test("of several keys with one kid the right one counts, wherever it stands", arguments: [0, 1, 2])
    func duplicateKeyIDs(position: Int) async throws {
        let key = TestKey.es256()
        var keys = [TestKey.es256(), TestKey.es256()]
        keys.insert(key, at: position)
        app.provider.sign(with: key, publishing: keys)
        #expect(try await app.signIn().idToken != nil)
        #expect(app.provider.requests(to: .keys).count == 1)
    }

    @Test("several keys with the token's kid, and none that signed it")
    func wrongDuplicates() async {
        app.provider.sign(with: .es256(), publishing: [.es256(), .es256()])
        await app.expectRefusal { _ in }
    }

    static let strangeKeyIDs = [
        "../../../../dev/null", "/etc/passwd", "..\\..\\key", "k1' OR '1'='1", "https://evil.example/keys", "K1", "k1 ",
        "", "*", "k1\u{0}", "\u{202E}1k", String(repeating: "k", count: 100_000),
    ]

    @Test("a kid is a name and nothing else: an unknown one is refused", arguments: strangeKeyIDs)
    func strangeKeyID(keyID: String) async {
        await app.expectRefusal { $0.header["kid"] = keyID }
        #expect(app.provider.requests(to: .keys).count == 1)
        #expect(app.provider.requests(to: .elsewhere).allSatisfy { $0.request.target == "/fence" })
    }

    @Test("a kid is a name and nothing else: a published one is found", arguments: strangeKeyIDs)
    func publishedStrangeKeyID(keyID: String) async throws {
        let key = TestKey.es256(keyID: keyID)
        app.provider.sign(with: key, publishing: [.es256(keyID: "k1"), key])
        #expect(try await app.signIn().idToken != nil)
    }

    @Test("a kid that is no text", arguments: ["7", "null", #"["k1"]"#, #"{"k1":1}"#, "true"])
    func keyIDOfOtherType(text: String) async {
        await app.expectRefusal { $0.headerText = #"{"alg":"ES256","kid":\#(text)}"# }
    }

    @Test(
        "a key with the right kid that is not for this",
        arguments: [
            ["kty": "RSA"], ["kty": "oct"], ["kty": "OKP"], ["kty": "ec"], ["crv": "P-384"], ["crv": "secp256k1"],
            ["use": "enc"], ["alg": "ES384"], ["alg": "ECDH-ES"], ["x": "AA"], ["y": ""],
        ])
    func unfitKey(change: [String: String]) async {
        app.provider.alter { alterations in
            alterations.keys = { keys in for (name, value) in change { keys[0][name] = value } }
        }
        await app.expectFault(.tokenInvalid) { _ = try await app.signIn() }
    }

    @Test("a key for signing only")
    func signingKey() async {
        app.provider.alter { $0.keys = { $0[0]["key_ops"] = ["sign"] } }
        await app.expectFault(.tokenInvalid) { _ = try await app.signIn() }
    }

    @Test("an RSA key under the kid of an EC key, and the other way round", arguments: [true, false])
    func wrongType(isPublishedRSA: Bool) async throws {
        let (rsa, ec) = (try await TestKey.rsa("RS256"), TestKey.es256())
        app.provider.sign(with: isPublishedRSA ? ec : rsa, publishing: [isPublishedRSA ? rsa : ec])
        await app.expectRefusal { _ in }
    }

    @Test(
        "key sets that are none",
        arguments: [
            (HTTPAnswer.text("<html>"), OpenIDConnectError.Code.invalidAnswer), (.text(""), .invalidAnswer),
            (.text("[]"), .invalidAnswer), (.text("{}"), .invalidAnswer), (.text(#"{"keys":{}}"#), .invalidAnswer),
            (.text(#"{"keys":null}"#), .invalidAnswer), (.text(#"{"keys":[]}"#), .tokenInvalid),
            (.text(#"{"keys":[7,null,"k1",[],{}]}"#), .tokenInvalid), (.text("", status: 404), .invalidAnswer),
            (.text("", status: 204), .invalidAnswer), (.text("", status: 500), .unavailable),
            (.text("", status: 429), .unavailable),
            (.text(String(repeating: " ", count: 1 << 21)), .invalidAnswer),
        ])
    func badKeySet(answer: HTTPAnswer, code: OpenIDConnectError.Code) async {
        app.provider.alter { $0.replies[.keys] = { _ in .answer(answer) } }
        let error = await app.expectFault(code) { _ = try await app.signIn() }
        #expect(error?.mayHaveBeenProcessed == true)
        #expect(app.provider.requests(to: .keys).count == 1)
    }

    @Test("a key set that lies elsewhere is not followed")
    func redirectedKeySet() async {
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

    @Test("a key set that is cut off")
    func truncatedKeySet() async {
        app.provider.alter { $0.replies[.keys] = { .truncated($0) } }
        await app.expectFault(.interrupted) { _ = try await app.signIn() }
    }
}
