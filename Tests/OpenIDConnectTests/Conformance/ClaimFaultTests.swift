import Foundation
import TestSupport
import Testing

@testable import OpenIDConnect

/// ID tokens with a right signature over wrong claims, and some that only look wrong.
@Suite("Faults: claims")
struct ClaimFaultTests {
    let app: NativeApp

    init() async throws {
        app = try await NativeApp()
    }

    /// ISSUER stands for the right issuer.
    @Test(
        arguments: [
            #""ISSUER/""#, #""ISSUER?""#, #""ISSUER#""#, #"" ISSUER""#, #""ISSUER\u0000""#, #"["ISSUER"]"#, "null", "7",
            #""""#, #""https://accounts.example""#,
        ])
    func `when the issuer is wrong, then the token is refused`(text: String) async {
        let issuer = app.provider.issuer
        await app.expectRefusal { try $0.write("iss", text.replacing("ISSUER", with: issuer)) }
    }

    @Test(
        arguments: [
            #""other""#, #"["other"]"#, "[]", "null", "7", "{}", #""""#, #""VAULT-CLI""#, #""vault-cli other""#,
            #"["vault-cli other"]"#, #"[["vault-cli"]]"#, #"["vault-cli",7]"#, #"{"vault-cli":true}"#,
            // Several audiences, and no authorized party.
            #"["vault-cli","other"]"#, #"["other","vault-cli"]"#,
        ])
    func `when the audience is wrong, then the token is refused`(text: String) async {
        await app.expectRefusal { try $0.write("aud", text) }
    }

    @Test func `when this client is the authorized party, then verification succeeds`() async throws {
        try await app.expectAcceptance { $0.claims["aud"] = ["vault-cli"] }
        try await app.expectAcceptance { draft in
            draft.claims["aud"] = ["other", "vault-cli"]
            draft.claims["azp"] = "vault-cli"
        }
        try await app.expectAcceptance { $0.claims["azp"] = "vault-cli" }
    }

    @Test(arguments: [#""other""#, #"["vault-cli"]"#, "null", "7", #""""#], [["vault-cli"], ["vault-cli", "other"]])
    func `when the authorized party is wrong, then verification fails`(text: String, audience: [String]) async {
        await app.expectRefusal { draft in
            draft.claims["aud"] = audience
            try draft.write("azp", text)
        }
    }

    /// NONCE stands for the right one.
    @Test(arguments: [#""other""#, #""""#, "null", "7", #"["NONCE"]"#, #""NONCE ""#, #"{"NONCE":1}"#])
    func `when the nonce is wrong, then the token is refused`(text: String) async {
        await app.expectRefusal { try $0.write("nonce", text.replacing("NONCE", with: "\($0.claims["nonce"] ?? "")")) }
    }

    @Test func `when the nonce is stale, then the token is refused`() async throws {
        let earlier = try await app.start().nonce
        await app.expectRefusal { $0.claims["nonce"] = earlier }
    }

    @Test(arguments: ["iss", "sub", "aud", "exp", "iat", "nonce"])
    func `when a required claim is missing, then verification fails`(claim: String) async {
        await app.expectRefusal { $0.claims[claim] = nil }
    }

    @Test(
        arguments: ["exp", "iat", "nbf"],
        [
            #""1800000100""#, "NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e300", "-1e300", "-1", "null",
            "true", "[1800000000]", "{}", "0x6B49D200", "1800000000000",
        ])
    func `when a time is invalid, then the token is refused`(claim: String, text: String) async {
        await app.expectRefusal { try $0.write(claim, text) }
    }

    /// Seconds from now.
    @Test(arguments: [("exp", -120), ("exp", -86_400), ("iat", 121), ("iat", 86_400), ("nbf", 121), ("nbf", 86_400)])
    func `when a time exceeds the tolerance, then verification fails`(claim: String, offset: Double) async {
        let time = app.provider.clock.now.timeIntervalSince1970 + offset
        await app.expectRefusal { $0.claims[claim] = time }
    }

    @Test(arguments: [("exp", -119), ("exp", 0.25), ("iat", 120), ("iat", -0.75), ("nbf", 120), ("nbf", -86_400)])
    func `when a time is within tolerance, then verification succeeds`(claim: String, offset: Double) async throws {
        let time = app.provider.clock.now.timeIntervalSince1970 + offset
        try await app.expectAcceptance { $0.claims[claim] = time }
    }

    @Test(arguments: [#""""#, "null", "7", #"["alice"]"#, #""al\u00EFce""#, #""ali\nce""#, #""alice\u0000""#])
    func `when the subject is invalid, then the token is refused`(text: String) async {
        await app.expectRefusal { try $0.write("sub", text) }
    }

    @Test func `when the subject exceeds 255 characters, then verification fails`() async {
        await app.expectRefusal { $0.claims["sub"] = String(repeating: "a", count: 256) }
    }

    @Test(arguments: [#""""#, "null", "7", #""AAAAAAAAAAAAAAAAAAAAAA""#])
    func `when at_hash is wrong, then the token is refused`(text: String) async {
        await app.expectRefusal { try $0.write("at_hash", text) }
    }

    @Test(
        arguments: [
            ("iss", "iss"), ("aud", "aud"), ("sub", "sub"), ("nonce", "nonce"), ("exp", "exp"), ("sub", #"\u0073ub"#),
            ("aud", #"a\u0075d"#),
        ])
    func `when a claim occurs twice, then the token is refused`(claim: String, spelled: String) async {
        await app.expectRefusal { draft in
            // The value is the same, so only the repetition is wrong.
            let value = try json(["v": draft.claims[claim] ?? ""]).dropFirst(#"{"v":"#.count).dropLast()
            draft.claimsText = "{\"\(spelled)\":\(value)," + (try json(draft.claims)).dropFirst()
        }
    }

    @Test(arguments: ["", "null", "[]", "7", #""text""#, "{", #"{"iss":"#, "\u{FEFF}{}", "<html>"])
    func `when the claims are no JSON object, then verification fails`(text: String) async {
        await app.expectRefusal { $0.claimsText = text }
    }

    @Test func `when claims nest too deeply, then verification fails`() async {
        let depth = 100_000
        await app.expectRefusal {
            try $0.write("x", String(repeating: "[", count: depth) + String(repeating: "]", count: depth))
        }
    }
}
