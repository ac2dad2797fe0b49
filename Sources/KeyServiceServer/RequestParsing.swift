internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import KeyServiceAPI
internal import NIOCore

/// A request that cannot be carried out, with the status that says why. None of them is 401, 403 or 404: clients read
/// those as "wrong secret", "locked" and "no such key".
struct BadRequest: Error {
    let status: HTTPResponse.Status

    static let malformed = BadRequest(status: .badRequest)
    static let tooLarge = BadRequest(status: .contentTooLarge)
    static let notJSON = BadRequest(status: .unsupportedMediaType)
    static let unusable = BadRequest(status: .unprocessableContent)
}

/// Reads the bodies of the protocol, strictly: what is not clear is refused before any guess is charged.
enum RequestParsing {
    private static let decoder = JSONDecoder()
    private static let maxKeyIDSize = 128

    static func createKeyRequest(_ request: Request) async throws -> CreateKeyRequest {
        let body = try await decode(CreateKeyRequest.self, from: request)
        try requireSecret(body.secret)
        return body
    }

    static func keyRequest(_ request: Request) async throws -> (keyID: String, guess: KeyKeeper.Guess) {
        let body = try await decode(KeyRequest.self, from: request)
        guard isKeyID(body.keyid) else { throw BadRequest.unusable }
        switch (body.secret, body.longsecret) {
        case (let secret?, nil):
            try requireSecret(secret)
            return (body.keyid, .secret(secret))
        case (nil, let longSecret?):
            try requireSecret(longSecret)
            return (body.keyid, .longSecret(longSecret))
        default: throw BadRequest.unusable
        }
    }

    private static func decode<Body: Decodable>(_ type: Body.Type, from request: Request) async throws -> Body {
        guard isJSON(request.headers[.contentType]) else { throw BadRequest.notJSON }
        let body = try await collect(request)
        do {
            return try decoder.decode(Body.self, from: Data(body.readableBytesView))
        } catch DecodingError.dataCorrupted {
            throw BadRequest.malformed
        } catch is DecodingError {
            throw BadRequest.unusable
        } catch {
            throw BadRequest.malformed
        }
    }

    /// The whole body, which is in one piece as a rule. What goes beyond the limit is not kept.
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

    private static func isJSON(_ contentType: String?) -> Bool {
        guard let contentType else { return false }
        if contentType == "application/json" { return true }
        let mediaType = contentType.prefix { $0 != ";" }
        return mediaType.lowercased().trimmingCharacters(in: .whitespaces) == "application/json"
    }

    /// Any text may be a secret, except none and one with a NUL, which other software would cut short there.
    private static func requireSecret(_ secret: String) throws {
        guard !secret.isEmpty, !secret.utf8.contains(0) else { throw BadRequest.unusable }
    }

    /// Looser than what ``KeyKeeper`` makes, as the operator may have brought keys along; safe to put into a log.
    private static func isKeyID(_ text: String) -> Bool {
        (1...maxKeyIDSize).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}
