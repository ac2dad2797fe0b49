/// The access token that proves to a ``DeviceListService`` who the owner is. Its description does not contain the
/// token.
public struct OwnerToken: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Makes the proof for one request (RFC 9449 section 4.2).
    ///
    /// - Parameters:
    ///   - method: the method of the request.
    ///   - url: the URL of the request.
    ///   - nonce: the nonce that the service asked for; nil for none.
    /// - Returns: the header field `DPoP`.
    public typealias Proof = @Sendable (_ method: String, _ url: String, _ nonce: String?) throws -> String

    /// The token itself.
    public let value: String
    /// The maker of proofs for the key that the token is bound to; nil for a token that is not bound.
    public let proof: Proof?

    /// Makes a token.
    ///
    /// - Parameters:
    ///   - value: the token itself.
    ///   - proof: makes the proofs of the key that the token is bound to; nil for a token that is not bound.
    public init(_ value: String, proof: Proof? = nil) {
        self.value = value
        self.proof = proof
    }

    public var description: String { "OwnerToken" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
