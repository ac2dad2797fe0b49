import Foundation
import HTTPTypes
import Hummingbird
import KeyServiceAPI
import NIOCore
import VaultBase

@testable import KeyServiceAudit
@testable import KeyServiceCore
@testable import KeyServiceServer
@testable import VaultCrypto

extension FuzzTarget {
    /// A request of the key service's protocol, version 2: the path, the field `Authorization` and the body, each but
    /// the body with a line feed after it.
    static func oprfRequest(_ bytes: [UInt8]) async {
        let parts = bytes.split(separator: 10, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return }
        var fields: HTTPFields = [.contentType: "application/json"]
        fields[.authorization] = String(decoding: parts[1], as: UTF8.self)
        _ = try? OPRFParsing.accessToken(fields, path: "/")
        guard let route = OPRFRoute(String(decoding: parts[0], as: UTF8.self), basePath: ""),
            let parsing = await parsing(parts[2])
        else { return }
        switch route {
        case .create: if let create = try? parsing.createRequest() { await check(create) }
        case .key(let id, let call):
            guard (try? OPRFParsing.requireID(id)) != nil else { return }
            precondition(UUID(uuidString: id)?.uuidString.lowercased() == id, "an id has one form")
            check(call, id, parsing, fields)
        case .device(_, .rename):
            if let label = try? parsing.renameRequest() { precondition(label.count <= OPRFSize.maxLabel) }
        case .device, .devices, .versions, .openAPI: break
        }
    }

    private static func parsing(_ body: some Sequence<UInt8>) async -> OPRFParsing? {
        let head = HTTPRequest(
            method: .post, scheme: nil, authority: nil, path: "/", headerFields: [.contentType: "application/json"])
        return try? await OPRFParsing(Request(head: head, body: .init(buffer: ByteBuffer(bytes: body))))
    }

    private static func check(
        _ call: OPRFPath.Call, _ id: String, _ parsing: OPRFParsing, _ fields: HTTPFields
    ) {
        switch call {
        case .evaluate:
            if let found = try? parsing.authorization(fields, id: id) {
                // A code that is accepted stands for one text only.
                let text = "CV2 \(found.seconds).\(Base64URL.encode(found.code))"
                precondition(found.seconds >= 0 && text == fields[.authorization])
                _ = found.isRecent(at: .max, within: 300) || found.isRecent(at: .min, within: 300)
            }
            if let blinded = try? parsing.evaluateRequest() {
                precondition(blinded.count == OPRFSize.key)
                _ = try? RistrettoElement(blinded)
            }
        case .confirm:
            guard let confirm = try? parsing.confirmRequest() else { return }
            precondition((1...OPRFSize.maxTickets).contains(confirm.tickets.count))
            precondition(confirm.tickets.allSatisfy { $0.bytes.count == OPRFSize.ticket })
            precondition(confirm.signature.bytes.count == OPRFSize.signature)
            precondition((confirm.confirmKey?.bytes.count ?? OPRFSize.key) == OPRFSize.key)
            precondition((confirm.endSignature?.bytes.count ?? OPRFSize.signature) == OPRFSize.signature)
        case .end, .claim:
            if let signature = try? parsing.signature() { precondition(signature.count == OPRFSize.signature) }
        }
    }

    /// What was read, written again, is read as the same.
    private static func check(_ create: CreateOPRFKeyRequest) async {
        precondition(create.requestKey.bytes.count == 32 && create.endKey.bytes.count == 32)
        guard let body = try? JSONEncoder().encode(create), let again = await parsing(body),
            let second = try? again.createRequest()
        else { preconditionFailure("it is refused") }
        precondition(
            second.id == create.id && second.requestKey == create.requestKey && second.endKey == create.endKey
                && second.blinded == create.blinded && second.label == create.label)
    }

    /// 32 bytes, which are read as an element, as a key and as a blind. The rest is an input.
    static func oprfFunction(_ bytes: [UInt8]) {
        let size = RistrettoElement.size
        let head = Array(bytes.prefix(size))
        let element = try? RistrettoElement(head)
        if let element {
            // An element has one encoding. libsodium 1.0.18 ignores the highest bit, and knows the identity.
            precondition(element.bytes == head && head.contains { $0 != 0 })
            precondition((try? RistrettoElement(head.dropLast() + [head[size - 1] | 0x80])) == nil)
        }
        guard head.count == size, let input = try? SecretBytes(copying: Array(bytes.dropFirst(size))),
            let key = try? SecretBytes(copying: head)
        else { return }
        // Any bytes as a key give an element or an error, also with an element that is no blinded input.
        for blinded in [element, try? OPRF.blind(input).element] {
            guard let blinded, let evaluated = try? OPRF.evaluate(blinded, key: key) else { continue }
            precondition((try? RistrettoElement(evaluated.bytes)) == evaluated)
        }
        // The result does not depend on the blind. These numbers are below the order of the group and more than one.
        let scalar: [UInt8] = [head[0] | 2] + head[1..<size - 1] + [head[size - 1] & 0x0F]
        let one: [UInt8] = [1] + [UInt8](repeating: 0, count: size - 1)
        let expected = result(input, blind: one, key: scalar, foreign: nil)
        precondition((expected != nil) == (input.count <= Int(UInt16.max)))
        precondition(result(input, blind: scalar, key: scalar, foreign: element) == expected)
    }

    /// Returns the function's result; nil if the input is refused.
    ///
    /// - Parameter foreign: an answer of a false service. It must end in a result or an error.
    private static func result(
        _ input: borrowing SecretBytes, blind: [UInt8], key: [UInt8], foreign: RistrettoElement?
    ) -> [UInt8]? {
        guard let scalar = try? SecretBytes(copying: blind), let key = try? SecretBytes(copying: key),
            let blinding = try? OPRF.blind(input, with: scalar)
        else { return nil }
        if let foreign { _ = try? OPRF.finalize(input, blinding, evaluated: foreign).count }
        guard let evaluated = try? OPRF.evaluate(blinding.element, key: key),
            let result = try? OPRF.finalize(input, blinding, evaluated: evaluated)
        else { return nil }
        return result.withUnsafeBytes { Array($0) }
    }
}
