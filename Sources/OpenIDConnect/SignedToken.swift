internal import VaultBase

/// A signed token in compact form (RFC 7515 section 7.1) with an acceptable header. Its signature is not checked yet.
struct SignedToken: Sendable {
    let algorithm: SignatureAlgorithm
    let keyID: String?
    /// The type in lower case; nil if the header has none.
    let type: String?
    /// The claims as they came.
    let payload: [UInt8]
    /// The signed bytes: the first two parts as they came, with the dot between them.
    let signingInput: [UInt8]
    let signature: [UInt8]

    /// Takes a token apart.
    ///
    /// It ignores `jwk`, `jku`, `x5u` and `x5c` in the header: only the provider's published keys count.
    ///
    /// - Parameters:
    ///   - types: the allowed types in lower case. A token without a type is allowed.
    init(_ token: String, types: Set<String> = ["jwt"]) throws {
        func invalid(_ reason: String) -> OpenIDConnectError { OpenIDConnectError(.tokenInvalid, reason) }

        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let headerBytes = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2])
        else { throw invalid("it is not a signed token") }
        guard let header = JSONValue(strictObjectIn: headerBytes) else { throw invalid("its header is not valid JSON") }
        guard header.member("crit") == nil else { throw invalid("its header has critical extensions") }
        guard let algorithm = header["alg"]?.string.flatMap(SignatureAlgorithm.init(rawValue:)) else {
            throw invalid("its signature algorithm is not allowed")
        }
        if let type = header.member("typ") {
            guard let type = type.string?.lowercased(), types.contains(type) else {
                throw invalid("it is another type of token")
            }
        }
        if let keyID = header.member("kid"), keyID.string == nil { throw invalid("its key identifier is not a text") }

        self.algorithm = algorithm
        self.keyID = header["kid"]?.string
        type = header["typ"]?.string?.lowercased()
        self.payload = payload
        self.signature = signature
        signingInput = Array(token.utf8.prefix(parts[0].utf8.count + 1 + parts[1].utf8.count))
    }
}
