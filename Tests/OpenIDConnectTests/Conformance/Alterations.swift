import Crypto
import Foundation
import VaultBase
import VaultHTTP

/// The faults of a ``MisbehavingProvider``. It does the right thing for each member that is nil.
struct Alterations: Sendable {
    typealias Members = [String: any Sendable]

    /// Changes the discovery document.
    var metadata: (@Sendable (inout Members) -> Void)?
    /// Changes the RFC 8414 document.
    var serverMetadata: (@Sendable (inout Members) -> Void)?
    /// Changes the published keys.
    var keys: (@Sendable (inout [Members]) -> Void)?
    /// Changes the parameters of the redirect that ends the authorization.
    var redirect: (@Sendable (inout [(name: String, value: String)]) -> Void)?
    /// Changes the ID token of a token answer.
    var idToken: (@Sendable (inout IDTokenDraft) throws -> Void)?
    /// Changes the members of a token answer.
    var tokens: (@Sendable (inout Members) -> Void)?
    /// Changes the claims of the userinfo answer.
    var userinfo: (@Sendable (inout Members) -> Void)?
    /// Changes the signed form of the userinfo answer.
    var signedUserinfo: (@Sendable (inout IDTokenDraft) throws -> Void)?
    /// Changes the answer to a pushed request.
    var push: (@Sendable (inout Members) -> Void)?
    /// Changes the answer to a device that asks for a code.
    var device: (@Sendable (inout Members) -> Void)?
    /// Changes the answer to a registration.
    var registration: (@Sendable (inout Members) -> Void)?
    /// Replaces the right answers with other replies.
    var replies: [MisbehavingProvider.Endpoint: @Sendable (HTTPAnswer) async throws -> LoopbackServer.Reply] = [:]
}

/// An ID token, or signed user information, before it is signed.
struct IDTokenDraft: Sendable {
    var key: TestKey {
        didSet { header["alg"] = key.algorithm }
    }
    var header: [String: any Sendable]
    var claims: [String: any Sendable]
    /// Replaces `header`, letter by letter.
    var headerText: String?
    /// Replaces `claims`, letter by letter.
    var claimsText: String?
    /// Replaces the whole signed token.
    var encoded: String?

    func token() throws -> String {
        try encoded ?? key.token(header: headerText ?? json(header), payload: claimsText ?? json(claims))
    }

    /// Puts a member with this JSON text before the others, even if it is one that `JSONSerialization` does not write.
    mutating func write(_ claim: String, _ text: String) throws {
        claims[claim] = nil
        claimsText = "{\"\(claim)\":\(text)," + (try json(claims)).dropFirst()
    }

    /// `at_hash` of an access token for the algorithm that signs this token (OpenID Connect Core section 3.1.3.6).
    func hash(of accessToken: String) -> String {
        let data = Data(accessToken.utf8)
        let digest: [UInt8] =
            switch key.algorithm.suffix(3) {
            case "256": Array(SHA256.hash(data: data))
            case "384": Array(SHA384.hash(data: data))
            default: Array(SHA512.hash(data: data))
            }
        return Base64URL.encode(digest.prefix(digest.count / 2))
    }
}
