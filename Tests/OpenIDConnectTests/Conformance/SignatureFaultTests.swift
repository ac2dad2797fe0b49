import Testing
import VaultBase

@testable import OpenIDConnect

/// ID tokens with right claims that are unsigned, or that somebody else signed.
@Suite("Faults: signatures")
struct SignatureFaultTests {
    let app: NativeApp

    init() async throws {
        app = try await NativeApp()
    }

    @Test(arguments: ["modulus", "JWK", "DER", "PEM", "PEM without newline"])
    func `when HS256 uses the public key, then the sign-in fails`(form: String) async throws {
        let app = try await NativeApp(key: try await .rsa("RS256"))
        let secret =
            switch form {
            case "modulus": PublicForms.modulus
            case "JWK": PublicForms.jwk
            case "DER": PublicForms.der
            case "PEM": PublicForms.pem
            default: Array(PublicForms.pem.dropLast())
            }
        await app.expectRefusal { $0.key = .hs256(keyedWith: secret) }
    }

    @Test func `when HS256 uses a published secret, then the sign-in fails`() async {
        let key = TestKey.hs256(keyedWith: Array("published".utf8))
        app.provider.sign(with: key, publishing: [key])
        await app.expectRefusal { $0.key = key }
    }

    @Test(arguments: ["none", "None", "NONE", "nOnE", "", "null"], [true, false])
    func `when alg is none in any spelling, then sign-in fails`(algorithm: String, isSigned: Bool) async {
        await app.expectRefusal { draft in
            if !isSigned { draft.key = draft.key.signing { _ in [] } }
            draft.header["alg"] = algorithm
        }
    }

    @Test(arguments: ["empty", "zeros", "short", "long", "flipped", "DER", "order"])
    func `when the signature is broken, then the token is refused`(kind: String) async {
        await app.expectRefusal { draft in
            draft.key = draft.key.signing { signature in
                switch kind {
                case "empty": []
                case "zeros": [UInt8](repeating: 0, count: 64)
                case "short": Array(signature.dropLast())
                case "long": signature + [0]
                case "flipped": signature.dropLast() + [(signature.last ?? 0) ^ 1]
                // The signature form that other protocols use for ECDSA.
                case "DER": [0x30, 0x44, 0x02, 0x20] + signature.prefix(32) + [0x02, 0x20] + signature.suffix(32)
                // r and s are the order of P-256, which counts as zero.
                default: Self.order + Self.order
                }
            }
        }
    }

    private static let order =
        Base64URL.decode("_____wAAAAD__________7zm-q2nF56E87nKwvxjJVE") ?? []

    @Test func `when another token's signature is used, then verification fails`() async {
        await app.expectRefusal { draft in
            let signature = try draft.token().split(separator: ".")[2]
            draft.claims["sub"] = "mallory"
            draft.encoded = try draft.token().split(separator: ".").prefix(2).joined(separator: ".") + "." + signature
        }
    }

    @Test(arguments: ["ES384", "ES512", "RS256", "PS256", "EdDSA", "ES256K"])
    func `when the algorithm mismatches the key, then verification fails`(name: String) async {
        await app.expectRefusal { $0.header["alg"] = name }
    }

    @Test(
        arguments: [
            #"["exp"]"#, #"["x"]"#, "[]", "null", #""exp""#, #"["b64"],"b64":false"#, #"["alg"]"#,
        ])
    func `when a critical extension exists, then the token is refused`(text: String) async {
        await app.expectRefusal { $0.headerText = #"{"alg":"ES256","kid":"k1","crit":\#(text)}"# }
    }

    @Test(
        arguments: [
            #""at+jwt""#, #""application/at+jwt""#, #""logout+jwt""#, #""dpop+jwt""#, #""secevent+jwt""#,
            #""token-introspection+jwt""#, #""JWE""#, #""""#, "7", "null", #"["JWT"]"#,
        ])
    func `when typ names another type, then the token is refused`(text: String) async {
        await app.expectRefusal { $0.headerText = #"{"alg":"ES256","kid":"k1","typ":\#(text)}"# }
    }

    @Test(
        arguments: [
            #"{"alg":"none","alg":"ES256","kid":"k1"}"#, #"{"alg":"ES256","alg":"none","kid":"k1"}"#,
            #"{"alg":"ES256","kid":"x","kid":"k1"}"#, #"{"alg":"ES256","\u0061lg":"ES256","kid":"k1"}"#,
            #"{"alg":"ES256","kid":"k1","jwk":{"kty":"EC","kty":"EC"}}"#,
        ])
    func `when a header member repeats, then the token is refused`(header: String) async {
        await app.expectRefusal { $0.headerText = header }
    }

    /// The forger's key lies at the trap, which the provider answers: whoever followed would find a key that fits.
    @Test(arguments: ["jwk", "jku", "x5u", "x5c"])
    func `when the header offers a key, then it is ignored`(member: String) async throws {
        let forger = TestKey.es256()
        let keys = try json(["keys": [forger.jwk]])
        let trap = app.provider.origin + "/trap"
        app.provider.alter { $0.replies[.trap] = { _ in .answer(.text(keys)) } }
        let value: any Sendable =
            switch member {
            case "jwk": forger.jwk
            case "x5c": ["AAAA"]
            default: trap
            }
        await app.expectRefusal { draft in
            draft.key = forger
            draft.header[member] = value
        }
        // With the provider's own signature the member does no harm, and is not followed either.
        try await app.expectAcceptance { $0.header[member] = value }
        #expect(app.provider.requests(to: .trap).isEmpty)
    }

    @Test(arguments: ["a", "a.b", "..", "a.b.c.d", "a.b.c.d.e", "{}", "é.é.é"])
    func `when the text is no token, then it is refused`(text: String) async {
        await app.expectRefusal { $0.encoded = text }
    }

    @Test(arguments: ["=", " ", "\n", "+", "/", "."])
    func `when a character follows the token, then verification fails`(suffix: String) async {
        await app.expectRefusal { $0.encoded = try $0.token() + suffix }
    }
}
