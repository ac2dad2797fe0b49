import Foundation
import Testing

/// The modules of the OpenID Foundation's conformance suite for clients. Each module is named above its test in this
/// folder, in a comment, or is listed here with a reason. The reason says why it does not apply to a native public
/// client with the code flow.
@Suite("Conformance: names")
struct ConformanceNames {
    static let doNotApply: [(reason: String, names: [String])] = [
        (
            "Tests an authorization server, not a client.",
            [
                "fapi2-security-profile-final-ensure-authorization-code-is-bound-to-client",
                "fapi2-security-profile-final-ensure-client-assertion-in-token-endpoint",
                "fapi2-security-profile-final-ensure-client-assertion-with-exp-is-5-minutes-in-past-fails",
                "fapi2-security-profile-final-ensure-client-assertion-with-no-sub-fails",
                "fapi2-security-profile-final-ensure-client-assertion-with-wrong-aud-fails",
                "fapi2-security-profile-final-ensure-client-id-in-token-endpoint",
                "fapi2-security-profile-final-ensure-signed-client-assertion-with-RS256-fails",
                "fapi2-security-profile-final-par-ensure-jwt-client-assertions-nbf-8-seconds-in-the-future-is-accepted",
                "fapi2-security-profile-final-par-ensure-jwt-client-assertions-nbf-over-60-seconds-in-the-future-fails",
                "fapi2-security-profile-final-par-attempt-to-use-request_uri-for-different-client",
            ]
        ),
        (
            "Registers with a certificate and a software statement of Open Finance Brazil's directory; a public "
                + "client has neither.",
            [
                "fapi2-security-profile-final-client-brazildcr-happypath-test",
                "fapi2-security-profile-final-brazildcr-client-delete",
                "fapi2-security-profile-final-brazildcr-update-client-config",
                "fapi2-security-profile-final-brazildcr-update-client-config-bad-jwks-uri",
                "fapi2-security-profile-final-brazildcr-update-client-config-invalid-jwks-by-value",
                "fapi2-security-profile-final-brazildcr-update-client-config-invalid-redirect-uri",
            ]
        ),
        (
            "Holds a claim against a signed request object of UK Open Banking; there are no request objects "
                + "here.",
            [
                "fapi2-security-profile-final-client-test-invalid-openbanking-intent-id"
            ]
        ),
        (
            "Signed redirects (JARM) are never asked for. One that comes all the same is refused: see the "
                + "faults of redirects.",
            [
                "fapi2-security-profile-final-client-test-ensure-jarm-signature-is-not-none",
                "fapi2-security-profile-final-client-test-ensure-jarm-with-expired-exp-fails",
                "fapi2-security-profile-final-client-test-ensure-jarm-with-invalid-aud-fails",
                "fapi2-security-profile-final-client-test-ensure-jarm-with-invalid-iss-fails",
                "fapi2-security-profile-final-client-test-ensure-jarm-with-invalid-sig-fails",
                "fapi2-security-profile-final-client-test-ensure-jarm-without-aud-fails",
                "fapi2-security-profile-final-client-test-ensure-jarm-without-exp-fails",
                "fapi2-security-profile-final-client-test-ensure-jarm-without-iss-fails",
            ]
        ),
        (
            "Hybrid or implicit flow, where ID tokens come through the browser. With the code flow c_hash means "
                + "nothing, and at_hash may be missing.",
            [
                "oidcc-client-test-invalid-chash",
                "oidcc-client-test-missing-chash",
                "oidcc-client-test-missing-athash",
            ]
        ),
        (
            "Needs a web server of the client's that the browser or the provider calls: form posts, sign-ins "
                + "that others start, logout in the front and in the back channel, frames that watch the session. A "
                + "native app has none.",
            [
                "oidcc-client-test-form-post-error",
                "oidcc-client-test-3rd-party-init-login",
                "oidcc-client-test-rp-backchannel-rpinitlogout",
                "oidcc-client-test-rp-backchannel-rpinitlogout-alg-none",
                "oidcc-client-test-rp-backchannel-rpinitlogout-no-event",
                "oidcc-client-test-rp-backchannel-rpinitlogout-with-nonce",
                "oidcc-client-test-rp-backchannel-rpinitlogout-wrong-alg",
                "oidcc-client-test-rp-backchannel-rpinitlogout-wrong-aud",
                "oidcc-client-test-rp-backchannel-rpinitlogout-wrong-event",
                "oidcc-client-test-rp-backchannel-rpinitlogout-wrong-iss",
                "oidcc-client-test-rp-frontchannel-opinitlogout",
                "oidcc-client-test-rp-frontchannel-rpinitlogout",
                "oidcc-client-test-session-management",
            ]
        ),
        (
            "What comes back after a logout in the browser is not looked at: there is nothing that it could "
                + "change.",
            [
                "oidcc-client-test-rp-init-logout-other-state",
                "oidcc-client-test-rp-init-logout-no-state",
            ]
        ),
        (
            "Request objects by reference have to be published by the client; requests are pushed instead (RFC "
                + "9126).",
            [
                "oidcc-client-test-request-uri-signed-none",
                "oidcc-client-test-request-uri-signed-rs256",
            ]
        ),
        (
            "A public client has no certificate.",
            [
                "oidcc-client-test-mtls-endpoint-aliases"
            ]
        ),
        (
            "Access tokens are sent in the header field only, as RFC 6750 section 2 advises.",
            [
                "oidcc-client-test-userinfo-bearer-body"
            ]
        ),
        (
            "Claims from third parties are not fetched: see the tests of user information.",
            [
                "oidcc-client-test-distributed-claims"
            ]
        ),
        (
            "Issuers are configured, not looked up by e-mail address or URL (WebFinger).",
            [
                "oidcc-client-test-discovery-webfinger-acct",
                "oidcc-client-test-discovery-webfinger-url",
            ]
        ),
    ]

    private struct File: Decodable {
        struct Module: Decodable {
            let name: String
        }
        let tests: [Module]
    }

    private static let file = "oidc-rp-conformance-tests.json"

    @Test func `when modules are listed, then each is tested or excused`() throws {
        let modules = try Vectors.decode(File.self, from: Self.file).tests.map(\.name)
        #expect(modules.count == 105)
        let tested = try Self.testedNames()
        let excused = Self.doNotApply.flatMap(\.names)
        #expect(Set(tested).union(excused) == Set(modules))
        #expect(tested.count + excused.count == modules.count, "a name stands twice")
    }

    /// The modules that comments above the tests in this folder name.
    private static func testedNames() throws -> [String] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        let name = /\/\/ Module: ((?:oidcc|fapi2)-\S+)\s+@Test/
        return try files.filter { $0.pathExtension == "swift" }.flatMap { file in
            try String(contentsOf: file, encoding: .utf8).matches(of: name).map { String($0.1) }
        }
    }
}
