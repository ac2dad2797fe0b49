import Foundation
import HTTPTypes
import Hummingbird
import KeyService
import NIOCore
import VaultCrypto
import VaultHTTP

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
        await obliviousAnswer(answer, status: bytes[0])
    }

    /// The same answer to the calls of protocol version 2.
    private static func obliviousAnswer(_ answer: HTTPAnswer, status: UInt8) async {
        var answer = answer
        answer.status = .init(code: [200, 200, 401, 403, 404, 409, 410, 422, 503][Int(status) % 9])
        guard
            let service = try? HTTPObliviousKeyService(
                baseURL: "https://keys.example.com", transport: Canned(answer: answer)),
            let key = try? SecretBytes(count: 32, { _ in }), let blinding = try? ObliviousFunction.blind(key),
            let shared = try? SharedSecret(key.copy())
        else { return }
        _ = try? await service.protocolVersions()
        _ = try? await service.createKey(
            NewObliviousKey(id: "k", requestKey: shared, endKey: [], blinded: blinding.element))
        _ = try? await service.evaluate("k", blinding.element, requestKey: key, at: .init(timeIntervalSince1970: 0))
        try? await service.confirm(KeyConfirmation(id: "k", tickets: [], signature: []))
        try? await service.endKey(id: "k", signature: [])
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
