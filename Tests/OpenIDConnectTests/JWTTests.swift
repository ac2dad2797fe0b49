import Foundation
import OpenIDConnect
import Testing
import VaultBase

/// The parts of a token that an app can read.
@Suite struct JWTTests {
    private static func token(_ claims: String, header: String = #"{"alg":"none"}"#) -> String {
        [header, claims, "signature"].map { Base64URL.encode(Array($0.utf8)) }.joined(separator: ".")
    }

    @Test func `when claims are read, then their values stay unchanged`() throws {
        let jwt = try #require(
            JWT(
                Self.token(
                    #"{"sub":"alice","iss":"https://a.example","aud":["x","y"],"iat":1800000000,"exp":1800000300.5,"#
                        + #""id":9007199254740993,"roles":["nurse"],"address":{"city":"Ålborg"},"nothing":null}"#)))
        #expect(jwt.subject == "alice" && jwt.issuer == "https://a.example" && jwt.audience == ["x", "y"])
        #expect(jwt.issuedAt == Date(timeIntervalSince1970: 1_800_000_000))
        #expect(jwt.expiresAt == Date(timeIntervalSince1970: 1_800_000_300.5))
        #expect(jwt.claim("roles", as: [String].self) == ["nurse"])
        #expect(jwt.claim("address", as: [String: String].self) == ["city": "Ålborg"])
        #expect(jwt.claim("id", as: Int.self) == 9_007_199_254_740_993)
        #expect(jwt.claim("roles", as: String.self) == nil && jwt.claim("nothing", as: String.self) == nil)
        #expect(!"\(jwt)\(dumped(jwt))".contains("alice"))
    }

    @Test func `when aud is a string, then audience has one entry`() throws {
        #expect(try #require(JWT(Self.token(#"{"aud":"x"}"#))).audience == ["x"])
        let empty = try #require(JWT(Self.token("{}")))
        #expect(empty.audience == [] && empty.subject == nil && empty.expiresAt == nil)
    }

    @Test(arguments: [
        "", "opaque", "a.b", "a.b.c", "a.b.c.d.e", token("[]"), token("{"), token("{}", header: "1"), "e30.e30",
        "e30=.e30.",
    ]) func `when the text is malformed, then no JWT is made`(_ text: String) { #expect(JWT(text) == nil) }

    private func dumped(_ value: Any) -> String {
        var text = ""
        dump(value, to: &text)
        return text
    }
}
