import Foundation
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
        "issuer",
        arguments: [
            #""ISSUER/""#, #""ISSUER?""#, #""ISSUER#""#, #"" ISSUER""#, #""ISSUER\u0000""#, #"["ISSUER"]"#, "null", "7",
            #""""#, #""https://accounts.example""#,
        ])
    func issuer(text: String) async {
        let issuer = app.provider.issuer
        await app.expectRefusal { try $0.write("iss", text.replacing("ISSUER", with: issuer)) }
    }

    @Test(
        "audience",
        arguments: [
            #""other""#, #"["other"]"#, "[]", "null", "7", "{}", #""""#, #""VAULT-CLI""#, #""vault-cli other""#,
            #"["vault-cli other"]"#, #"[["vault-cli"]]"#, #"["vault-cli",7]"#, #"{"vault-cli":true}"#,
            // Several audiences, and no authorized party.
            #"["vault-cli","other"]"#, #"["other","vault-cli"]"#,
        ])
    func audience(text: String) async {
        await app.expectRefusal { try $0.write("aud", text) }
    }

    @Test("one audience in an array, or several with this client as authorized party, are fine")
    func severalAudiences() async throws {
        try await app.expectAcceptance { $0.claims["aud"] = ["vault-cli"] }
        try await app.expectAcceptance { draft in
            draft.claims["aud"] = ["other", "vault-cli"]
            draft.claims["azp"] = "vault-cli"
        }
        try await app.expectAcceptance { $0.claims["azp"] = "vault-cli" }
    }

    @Test(
        "authorized party, with one audience and with several",
        arguments: [#""other""#, #"["vault-cli"]"#, "null", "7", #""""#], [["vault-cli"], ["vault-cli", "other"]])
    func authorizedParty(text: String, audience: [String]) async {
        await app.expectRefusal { draft in
            draft.claims["aud"] = audience
            try draft.write("azp", text)
        }
    }

    /// NONCE stands for the right one.
    @Test("nonce", arguments: [#""other""#, #""""#, "null", "7", #"["NONCE"]"#, #""NONCE ""#, #"{"NONCE":1}"#])
    func nonce(text: String) async {
        await app.expectRefusal { try $0.write("nonce", text.replacing("NONCE", with: "\($0.claims["nonce"] ?? "")")) }
    }

    @Test("the nonce of an earlier sign-in")
    func staleNonce() async throws {
        let earlier = try await app.start().nonce
        await app.expectRefusal { $0.claims["nonce"] = earlier }
    }

    @Test(
        "missing claims",
        arguments: ["iss", "sub", "aud", "exp", "iat", "nonce"])
    func missing(claim: String) async {
        await app.expectRefusal { $0.claims[claim] = nil }
    }

    @Test(
        "times that are none",
        arguments: ["exp", "iat", "nbf"],
        [
            #""1800000100""#, "NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e300", "-1e300", "-1", "null",
            "true", "[1800000000]", "{}", "0x6B49D200", "1800000000000",
        ])
    func oddTimes(claim: String, text: String) async {
        await app.expectRefusal { try $0.write(claim, text) }
    }

    /// Seconds from now.
    @Test(
        "times that are over or have not come",
        arguments: [("exp", -120), ("exp", -86_400), ("iat", 121), ("iat", 86_400), ("nbf", 121), ("nbf", 86_400)])
    func wrongTimes(claim: String, offset: Double) async {
        let time = app.provider.clock.now.timeIntervalSince1970 + offset
        await app.expectRefusal { $0.claims[claim] = time }
    }

    @Test(
        "clocks that are a little apart, and times with a fraction, are fine",
        arguments: [("exp", -119), ("exp", 0.25), ("iat", 120), ("iat", -0.75), ("nbf", 120), ("nbf", -86_400)])
    func goodTimes(claim: String, offset: Double) async throws {
        let time = app.provider.clock.now.timeIntervalSince1970 + offset
        try await app.expectAcceptance { $0.claims[claim] = time }
    }

    @Test(
        "subject",
        arguments: [#""""#, "null", "7", #"["alice"]"#, #""al\u00EFce""#, #""ali\nce""#, #""alice\u0000""#])
    func subject(text: String) async {
        await app.expectRefusal { try $0.write("sub", text) }
    }

    @Test("a subject of more than 255 characters")
    func longSubject() async {
        await app.expectRefusal { $0.claims["sub"] = String(repeating: "a", count: 256) }
    }

    @Test("hash of the access token", arguments: [#""""#, "null", "7", #""AAAAAAAAAAAAAAAAAAAAAA""#])
    func accessTokenHash(text: String) async {
        await app.expectRefusal { try $0.write("at_hash", text) }
    }

    @Test(
        "a member twice, however it is spelled",
        arguments: [
            ("iss", "iss"), ("aud", "aud"), ("sub", "sub"), ("nonce", "nonce"), ("exp", "exp"), ("sub", #"\u0073ub"#),
            ("aud", #"a\u0075d"#),
        ])
    func duplicates(claim: String, spelled: String) async {
        await app.expectRefusal { draft in
            // The value is the same, so only the repetition is wrong.
            let value = try json(["v": draft.claims[claim] ?? ""]).dropFirst(#"{"v":"#.count).dropLast()
            draft.claimsText = "{\"\(spelled)\":\(value)," + (try json(draft.claims)).dropFirst()
        }
    }

    @Test(
        "claims that are no JSON object",
        arguments: ["", "null", "[]", "7", #""text""#, "{", #"{"iss":"#, "\u{FEFF}{}", "<html>"])
    func noClaims(text: String) async {
        await app.expectRefusal { $0.claimsText = text }
    }

    @Test("claims that are nested without end")
    func nested() async {
        let depth = 100_000
        await app.expectRefusal {
            try $0.write("x", String(repeating: "[", count: depth) + String(repeating: "]", count: depth))
        }
    }
}
