internal import FoundationEssentials
package import HTTPTypes
package import VaultBase
package import VaultHTTP

/// The nonces that servers want in the next proof (RFC 9449 sections 8 and 9), one for each origin.
package final class DPoPNonces: Sendable {
    private let known = Lock<[String: String]>([:])

    package init() {}

    /// The nonce for a request to this URL; nil for none.
    package subscript(_ url: String) -> String? {
        known.withLock { $0[EndpointURL.origin(of: url)] }
    }

    /// Remembers the nonce of an answer. Returns false if there is none.
    package func learn(from answer: HTTPAnswer, of url: String) -> Bool {
        // A nonce has no quotation mark and no backslash (RFC 9449 section 8.1).
        guard let nonce = answer.headerFields[.dpopNonce], (1...1024).contains(nonce.utf8.count),
            nonce.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C })
        else { return false }
        known.withLock { $0[EndpointURL.origin(of: url)] = nonce }
        return true
    }
}

/// A request with an access token, a proof of possession, or both. It is sent again if the server wants its nonce in
/// the proof, as the server did not carry out the first one.
package struct DPoPRequest {
    let method: HTTPRequest.Method
    let url: String
    var fields: HTTPFields
    /// The key that signs the proof; nil for no proof.
    let key: DPoPKey?
    /// The access token for the `Authorization` header field and the proof; nil for none.
    let accessToken: String?

    package init(
        _ method: HTTPRequest.Method, _ url: String, fields: HTTPFields, key: DPoPKey?, accessToken: String?
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.key = key
        self.accessToken = accessToken
    }

    /// - Parameters:
    ///   - nonces: the nonces that the servers have sent.
    ///   - send: sends the request with these header fields.
    package func send(
        nonces: DPoPNonces, clock: any WallClock, _ send: (HTTPFields) async throws -> HTTPAnswer
    ) async throws -> HTTPAnswer {
        var fields = fields
        if let accessToken { fields[.authorization] = (key == nil ? "Bearer " : "DPoP ") + accessToken }
        guard let key else { return try await send(fields) }

        func sendOnce() async throws -> (answer: HTTPAnswer, hasNonce: Bool) {
            fields[.dpop] = try key.proof(
                method: method.rawValue, url: url, accessToken: accessToken, nonce: nonces[url], at: clock.now)
            let answer = try await send(fields)
            return (answer, nonces.learn(from: answer, of: url))
        }
        let first = try await sendOnce()
        guard first.hasNonce, Self.asksForNonce(first.answer) else { return first.answer }
        return try await sendOnce().answer
    }

    /// Whether a server refused only because its nonce was missing: an authorization server (RFC 9449 section 8) or a
    /// resource server (section 9).
    package static func asksForNonce(_ answer: HTTPAnswer) -> Bool {
        switch answer.status.code {
        case 400: JSONValue(objectIn: answer.body)?["error"]?.string == "use_dpop_nonce"
        case 401:
            Challenge.error(in: answer, scheme: "dpop") == "use_dpop_nonce"
                || JSONValue(objectIn: answer.body)?["error"]?.string == "use_dpop_nonce"
        default: false
        }
    }
}

/// A connection to a provider with proofs of possession; see ``DPoPRequest``.
package struct DPoPExchange: Sendable {
    let connection: ProviderConnection
    let nonces: DPoPNonces
    let clock: any WallClock

    package init(connection: ProviderConnection, nonces: DPoPNonces, clock: any WallClock) {
        self.connection = connection
        self.nonces = nonces
        self.clock = clock
    }

    package func send(
        _ method: HTTPRequest.Method, _ url: String, fields: HTTPFields = [:], body: [UInt8] = [], key: DPoPKey?,
        accessToken: String? = nil
    ) async throws -> HTTPAnswer {
        try await DPoPRequest(method, url, fields: fields, key: key, accessToken: accessToken)
            .send(nonces: nonces, clock: clock) {
                try await connection.send(method, url, fields: $0, body: body)
            }
    }
}

extension HTTPField.Name {
    static let dpop = Self("DPoP")!
    static let dpopNonce = Self("DPoP-Nonce")!
}
