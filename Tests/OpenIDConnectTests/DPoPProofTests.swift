import Foundation
import TestSupport
import Testing
import VaultBase

@testable import OpenIDConnect

/// The proofs that a server gets: only those count that were made for the request.
@Suite("Proofs at a server")
struct DPoPProofTests {
    private static let url = "https://keys.example/base/keyservice/v2/devices"

    private let key = DPoPKey()
    private let now = Date(timeIntervalSince1970: 1_700_000_000)

    private func proof(
        _ method: String = "POST", _ url: String = url, token: String? = "token", at time: Date? = nil
    ) throws -> String {
        try key.proof(method: method, url: url, accessToken: token, nonce: nil, at: time ?? now)
    }

    private func check(_ text: String) throws {
        try DPoPProof(text).check(method: "POST", url: Self.url, accessToken: "token", at: now, within: 300)
    }

    private func isRefused(_ text: String) -> Bool {
        do {
            try check(text)
            return false
        } catch {
            return (error as? OpenIDConnectError)?.code == .tokenInvalid
        }
    }

    @Test func `when a proof fits its request, then it is accepted`() throws {
        try check(proof())
        try check(proof("POST", "HTTPS://KEYS.example:443/base/keyservice/v2/devices"))
        try check(proof(at: now + 300))
        try check(proof(at: now - 298))
        let first = try DPoPProof(proof())
        #expect(try first.thumbprint == key.thumbprint && first.id != DPoPProof(proof()).id)
    }

    @Test func `when a proof is for another request, then it is refused`() throws {
        for other in [
            try proof("GET"), try proof("POST", "https://keys.example/keyservice/v2/devices"),
            try proof("POST", "https://other.example/base/keyservice/v2/devices"), try proof(token: nil),
            try proof(token: "another"), try proof(at: now + 302), try proof(at: now - 300),
        ] { #expect(isRefused(other)) }
    }

    @Test func `when a proof is not signed by its key, then it is refused`() throws {
        let parts = try proof().split(separator: ".").map(String.init)
        let other = try DPoPKey().proof(method: "POST", url: Self.url, accessToken: "token", nonce: nil, at: now)
            .split(separator: ".").map(String.init)
        func header(_ change: (inout [String: JSONValue]) -> Void) throws -> String {
            let read = try #require(JSONValue(objectIn: Base64URL.decode(parts[0]) ?? []))
            guard case .object(var members) = read else { return "" }
            change(&members)
            return Base64URL.encode(JSONValue.object(members).encoded())
        }
        for text in [
            "\(other[0]).\(parts[1]).\(parts[2])", "\(parts[0]).\(other[1]).\(parts[2])",
            "\(parts[0]).\(parts[1]).", "\(parts[0]).\(parts[1])", "",
            try header { $0["typ"] = nil } + ".\(parts[1]).\(parts[2])",
            try header { $0["jwk"] = nil } + ".\(parts[1]).\(parts[2])",
            try header { $0["alg"] = .string("none") } + ".\(parts[1])." + "",
            String(repeating: "a", count: 9000),
        ] { #expect(isRefused(text)) }
    }
}
