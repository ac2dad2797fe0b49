internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import KeyServiceAPI
internal import KeyServiceCore
internal import NIOCore
internal import VaultBase
internal import VaultCrypto

/// The strict reader of requests of the protocol's version 2. It refuses unclear ones before anything is charged.
struct OPRFParsing {
    private static let scheme = "CV2 "
    private static let bearer = "bearer "
    private static let bound = "dpop "
    private static let proofField = HTTPField.Name("DPoP")

    private let members: JSONValue
    private let body: [UInt8]

    /// Reads the body, a JSON object.
    init(_ request: Request) async throws {
        body = try await Self.body(of: request)
        guard let members = JSONValue(strictObjectIn: body) else { throw BadRequest.malformed }
        self.members = members
    }

    func createRequest() throws -> CreateOPRFKeyRequest {
        guard let id = members["id"]?.string else { throw BadRequest.malformed }
        try Self.requireID(id)
        let label = try optionalBytes("label", 0...OPRFSize.maxLabel)
        let endKey = try bytes("end_key", OPRFSize.key)
        guard Signature.isPublicKey(endKey) else { throw BadRequest.malformed }
        return CreateOPRFKeyRequest(
            id: id, requestKey: try bytes("request_key", OPRFSize.key), endKey: endKey,
            blinded: try bytes("blinded", OPRFSize.key), label: label)
    }

    func evaluateRequest() throws -> [UInt8] { try bytes("blinded", OPRFSize.key) }

    func confirmRequest() throws -> ConfirmRequest {
        guard let tickets = members["tickets"]?.array, (1...OPRFSize.maxTickets).contains(tickets.count) else {
            throw BadRequest.malformed
        }
        return ConfirmRequest(
            tickets: try tickets.map { try Self.bytes($0, OPRFSize.ticket...OPRFSize.ticket) },
            signature: try bytes("signature", OPRFSize.signature),
            confirmKey: try optionalBytes("confirm_key", OPRFSize.key...OPRFSize.key),
            endSignature: try optionalBytes("end_signature", OPRFSize.signature...OPRFSize.signature))
    }

    /// - Returns: the signature of a request to end or to claim a key.
    func signature() throws -> [UInt8] { try bytes("signature", OPRFSize.signature) }

    func renameRequest() throws -> [UInt8] {
        guard let value = members["label"] else { throw BadRequest.malformed }
        return try Self.bytes(value, 0...OPRFSize.maxLabel)
    }

    /// Reads the access token in the field `Authorization` (RFC 6750 section 2.1), and the proof in the field `DPoP` of
    /// a token that is bound to a key (RFC 9449 section 7.1).
    ///
    /// - Parameter path: the path of the request below the base URL.
    /// - Throws: ``DeviceKeeper/Refusal`` if there is none.
    static func accessToken(_ headers: HTTPFields, path: String) throws -> PresentedToken {
        guard let value = headers[.authorization], headers[values: .authorization].count == 1 else {
            throw DeviceKeeper.Refusal.invalidToken
        }
        let start = value.lowercased()
        if start.hasPrefix(bearer) { return PresentedToken(String(value.dropFirst(bearer.count)), path: path) }
        guard start.hasPrefix(bound) else { throw DeviceKeeper.Refusal.invalidToken }
        let proofs = proofField.map { headers[values: $0] } ?? []
        guard proofs.count == 1, let proof = proofs.first else { throw DeviceKeeper.Refusal.invalidProof }
        return PresentedToken(String(value.dropFirst(bound.count)), proof: proof, path: path)
    }

    /// Reads the field `Authorization` of a request to evaluate: `CV2 SECONDS.MAC`.
    func authorization(_ headers: HTTPFields, id: String) throws -> OPRFAuthorization {
        let values = headers[values: .authorization]
        guard values.count == 1, let value = values.first?.utf8, value.starts(with: Self.scheme.utf8) else {
            throw BadRequest.malformed
        }
        let parts = value.dropFirst(Self.scheme.utf8.count)
            .split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map { Substring($0) }
        guard parts.count == 2, let seconds = Self.seconds(parts[0]), let code = Base64URL.decode(String(parts[1])),
            code.count == RequestMAC.size
        else { throw BadRequest.malformed }
        return OPRFAuthorization(
            seconds: seconds, code: code,
            message: OPRFMessage.evaluate(
                id: id, seconds: String(parts[0]), bodyHash: PublicHash.sha512(body)))
    }

    /// Checks that an id is a lower-case UUID. An id has only one form.
    static func requireID(_ id: String) throws {
        guard UUID(uuidString: id)?.uuidString.lowercased() == id else { throw BadRequest.malformed }
    }

    /// Reads a number without a sign or a leading zero.
    private static func seconds(_ text: Substring) -> Int64? {
        guard let number = Int64(text), number >= 0, String(number) == text else { return nil }
        return number
    }

    private func bytes(_ name: String, _ size: Int) throws -> [UInt8] {
        guard let value = members[name] else { throw BadRequest.malformed }
        return try Self.bytes(value, size...size)
    }

    private func optionalBytes(_ name: String, _ sizes: ClosedRange<Int>) throws -> [UInt8]? {
        guard let value = members[name] else { return nil }
        return try Self.bytes(value, sizes)
    }

    private static func bytes(_ value: JSONValue, _ sizes: ClosedRange<Int>) throws -> [UInt8] {
        guard let text = value.string, let bytes = Base64URL.decode(text), sizes.contains(bytes.count) else {
            throw BadRequest.malformed
        }
        return bytes
    }

    // MARK: - Bodies, in both versions

    /// Returns the bytes of a body that is announced as JSON.
    static func body(of request: Request) async throws -> [UInt8] {
        guard isJSON(request.headers[.contentType]) else { throw BadRequest.notJSON }
        return Array(try await collect(request).readableBytesView)
    }

    /// Returns the whole body, which usually comes in one piece. It never keeps more than the limit.
    private static func collect(_ request: Request) async throws -> ByteBuffer {
        let limit = KeyServiceServerConfiguration.maxBodySize
        if let announced = request.headers[.contentLength].flatMap({ Int($0) }), announced > limit {
            throw BadRequest.tooLarge
        }
        var body = ByteBuffer()
        for try await var part in request.body {
            guard body.readableBytes + part.readableBytes <= limit else { throw BadRequest.tooLarge }
            if body.readableBytes == 0 { body = part } else { body.writeBuffer(&part) }
        }
        return body
    }

    static func isJSON(_ contentType: String?) -> Bool {
        guard let contentType else { return false }
        if contentType == "application/json" { return true }
        let mediaType = contentType.prefix { $0 != ";" }
        return mediaType.lowercased().trimmingCharacters(in: .whitespaces) == "application/json"
    }
}

/// A bad request, with the status of its answer. The status is never 401, 403 or 404: clients read those as "wrong
/// secret", "locked" and "no such key".
struct BadRequest: Error {
    let status: HTTPResponse.Status

    static let malformed = BadRequest(status: .badRequest)
    static let tooLarge = BadRequest(status: .contentTooLarge)
    static let notJSON = BadRequest(status: .unsupportedMediaType)
    static let unusable = BadRequest(status: .unprocessableContent)
}
