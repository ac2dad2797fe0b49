import Foundation
import HTTPTypes
import Hummingbird
import KeyServiceAPI
import KeyServiceClient
import NIOCore
import VaultCrypto
import VaultHTTP

@testable import KeyServiceAudit
@testable import KeyServiceCore
@testable import KeyServiceServer

extension FuzzTarget {
    /// A letter that chooses the request, and its body.
    static func keyServiceRequest(_ bytes: [UInt8]) async {
        guard let first = bytes.first else { return }
        let request = Request(
            head: .init(
                method: .post, scheme: nil, authority: nil, path: "/", headerFields: [.contentType: "application/json"]),
            body: .init(buffer: ByteBuffer(bytes: bytes.dropFirst())))
        if first & 1 == 0 {
            _ = try? await RequestParsing.keyRequest(request)
        } else {
            _ = try? await RequestParsing.createKeyRequest(request)
        }
    }

    /// A letter that chooses the status, one that chooses the header, and the body.
    static func keyServiceAnswer(_ bytes: [UInt8]) async {
        guard bytes.count > 1, let secret = try? SecretBytes(utf8: "cv1.A") else { return }
        let type: HTTPFields = bytes[1] & 1 == 0 ? [.contentType: "application/json"] : [.contentType: "text/html"]
        let answer = HTTPAnswer(
            status: .init(code: [200, 201, 204, 400, 401, 403, 404, 500, 503][Int(bytes[0]) % 9]), headerFields: type,
            body: Array(bytes.dropFirst(2)))
        guard let service = try? HTTPKeyService(baseURL: "https://keys.example.com", transport: Canned(answer: answer))
        else { return }
        _ = try? await service.createKey(secret: secret).id
        _ = try? await service.releaseKey(id: "k", secret: secret, kind: .secret).id
        await oprfAnswer(answer, status: bytes[0])
    }

    /// The same answer to the calls of protocol version 2.
    private static func oprfAnswer(_ answer: HTTPAnswer, status: UInt8) async {
        var answer = answer
        answer.status = .init(code: [200, 200, 401, 403, 404, 409, 410, 422, 503][Int(status) % 9])
        guard
            let service = try? HTTPOPRFKeyService(
                baseURL: "https://keys.example.com", transport: Canned(answer: answer)),
            let key = try? SecretBytes(count: 32, { _ in }), let blinding = try? OPRF.blind(key),
            let shared = try? SharedSecret(key.copy())
        else { return }
        _ = try? await service.protocolVersions()
        let new = NewOPRFKey(id: "k", requestKey: shared, endKey: [], blinded: blinding.element)
        _ = try? await service.createKey(new)
        await createdAnswer(answer.body, new)
        _ = try? await service.evaluate("k", blinding.element, requestKey: key, at: .init(timeIntervalSince1970: 0))
        try? await service.confirm(KeyConfirmation(id: "k", tickets: [], signature: []))
        try? await service.endKey(id: "k", signature: [])
    }

    /// The same bytes as the members of an answer to create that come after the right element and ticket.
    private static func createdAnswer(_ members: [UInt8], _ new: NewOPRFKey) async {
        let ticket = OPRFMessage.ticket(id: new.id, blinded: new.blinded.bytes)
        guard let element = try? OPRF.blind(SecretBytes(utf8: "k")).element,
            let start = try? JSONEncoder().encode(CreatedOPRFKey(evaluated: element.bytes, ticket: ticket))
                .dropLast(),
            let service = try? HTTPOPRFKeyService(
                baseURL: "https://keys.example.com",
                transport: Canned(
                    answer: HTTPAnswer(
                        status: .ok, headerFields: [.contentType: "application/json"],
                        body: Array(start) + [UInt8(ascii: ",")] + members + [UInt8(ascii: "}")]))),
            let evaluation = try? await service.createKey(new), let identity = evaluation.identity
        else { return }
        precondition(identity.key.count == 32 && identity.chain.count <= 32)
        precondition(identity.chain.allSatisfy { $0.key.count == 32 && $0.signature.count == 64 })
        _ = identity.fingerprint
        _ = identity.chain.contains { identity.continues($0.key) }
        precondition(
            (try? TrustedIdentities(known: [[UInt8](repeating: 7, count: 32)]).check(evaluation, of: new)) == nil)
    }

    /// A line of an audit log, and an anchor.
    static func auditLine(_ bytes: [UInt8]) {
        if let (content, mac) = AuditLine.split(bytes[...]), let sequence = AuditLine.sequence(of: content) {
            _ = AuditAnchor(sequence: sequence, mac: mac).description
        }
        _ = AuditAnchor(String(decoding: bytes, as: UTF8.self))
    }

    private struct Canned: HTTPTransport {
        let answer: HTTPAnswer

        func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer { answer }
    }
}
