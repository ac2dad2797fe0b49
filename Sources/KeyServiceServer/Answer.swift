internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import KeyServiceAPI
internal import KeyServiceCore
internal import NIOCore
internal import VaultBase
internal import VaultCrypto

/// An answer of the service: a status and a JSON body. Caches must not keep it.
struct Answer {
    /// The time that a client should wait after "busy", in seconds.
    static let retryAfter = "1"
    static let headers: HTTPFields = [.contentType: "application/json", .cacheControl: "no-store"]
    static let encoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }()

    var status: HTTPResponse.Status
    var body: ByteBuffer
    var headers = Self.headers

    func response() -> Response {
        Response(status: status, headers: headers, body: ResponseBody(byteBuffer: body))
    }
}

extension Answer {
    init(text: String, contentType: String) {
        self.init(status: .ok, body: ByteBuffer(string: text))
        headers[.contentType] = contentType
    }
}

// The answers of the protocol's version 2. A refusal has the form of RFC 9457.
extension Answer {
    private static let problemHeaders: HTTPFields = [
        .contentType: "application/problem+json", .cacheControl: "no-store",
    ]

    /// Makes the answer with a body.
    init(json body: some Encodable) throws {
        self.init(status: .ok, body: ByteBuffer(bytes: try Self.encoder.encode(body)))
    }

    /// Makes the answer of an evaluation. Nothing in it needs escaping: it has only base64url and numbers.
    init(_ evaluation: OPRFKeeper.Evaluation) {
        self.init(status: .ok, body: ByteBuffer())
        body.reserveCapacity(512)
        body.writeStaticString(#"{"evaluated":""#)
        body.writeString(Base64URL.encode(evaluation.evaluated))
        body.writeStaticString(#"","ticket":""#)
        body.writeString(Base64URL.encode(evaluation.opened.ticket))
        body.writeStaticString(#"","guesses_remaining":"#)
        body.writeString(String(evaluation.guessesRemaining))
        body.writeStaticString(#","open":["#)
        for (index, open) in evaluation.open.enumerated() {
            body.writeStaticString(index == 0 ? #"{"ticket":""# : #",{"ticket":""#)
            body.writeString(Base64URL.encode(open.ticket))
            body.writeStaticString(#"","at":"#)
            body.writeString(String(open.openedAt))
            body.writeStaticString("}")
        }
        body.writeStaticString("]")
        if let time = evaluation.ownerUnlockedAt {
            body.writeStaticString(#","owner_unlocked_at":"#)
            body.writeString(String(time))
        }
        body.writeStaticString("}")
    }

    /// Authenticates the answer to a request to evaluate. The field is the one of RFC 7615.
    ///
    /// - Parameters:
    ///   - id: the id of the key.
    ///   - authorization: the authentication of the request.
    ///   - requestKey: the key that authenticates both.
    mutating func authenticate(
        _ id: String, _ authorization: OPRFAuthorization, _ requestKey: borrowing SecretBytes
    ) throws {
        let message = OPRFMessage.answer(
            id: id, code: authorization.code, bodyHash: PublicHash.sha512(Array(body.readableBytesView)))
        headers[.authenticationInfo] = "mac=\(Base64URL.encode(try RequestMAC.code(of: message, key: requestKey)))"
    }

    /// Makes the answer for `error`, with only the details that the client may know.
    init(oprf error: any Error) {
        switch error {
        case let error as BadRequest where error.status == .contentTooLarge:
            self.init(problem: error.status, .tooLarge, "The body is too large.")
            // The rest of a large body is not worth reading.
            headers[.connection] = "close"
        case let error as BadRequest where error.status == .unsupportedMediaType:
            self.init(problem: error.status, .notJSON, "The body must be application/json.")
        case is BadRequest: self.init(problem: .badRequest, .invalidRequest, "The request is not well formed.")
        case let refusal as OPRFKeeper.Refusal: self.init(refusal)
        case let refusal as StoredKey.Refusal: self.init(refusal)
        case DeviceKeeper.Refusal.invalidToken:
            self.init(problem: .unauthorized, .invalidToken, "The access token is not accepted.")
            headers[.wwwAuthenticate] = #"Bearer error="invalid_token""#
        case DeviceKeeper.Refusal.invalidProof:
            self.init(problem: .unauthorized, .invalidProof, "The proof of the access token's key is not accepted.")
            headers[.wwwAuthenticate] = #"DPoP error="invalid_dpop_proof""#
        case DeviceKeeper.Refusal.noSuchDevice:
            self.init(problem: .notFound, .noSuchDevice, "The owner has no such key.")
        case DeviceKeeper.Refusal.signInTooOld:
            self.init(problem: .unauthorized, .signInAgain, "The owner must sign in at the provider again.")
            // RFC 9470 section 3.
            headers[.wwwAuthenticate] = #"Bearer error="insufficient_user_authentication", max_age="300""#
        case DeviceKeeper.Refusal.unlockedToday:
            self.init(problem: .forbidden, .unlockedToday, "The owner unlocked the key in the last 24 hours.")
        case DeviceKeeper.Refusal.guessesSpent:
            self.init(problem: .forbidden, .locked, "Too many guesses were made in all.")
        case let refusal as CreateQuota.Refusal:
            self.init(problem: .serviceUnavailable, .busy, "Too many new keys were made. Try again later.")
            headers[.retryAfter] = String(refusal.retryAfter)
        case let refusal as RefusalQuota.Exceeded:
            self.init(
                problem: .serviceUnavailable, .busy, "Too many requests of this address were refused. Try again later.")
            headers[.retryAfter] = String(refusal.retryAfter)
        case let error as KeyServiceServerError where error.code == .busy: self = Self.oprfBusy
        case let error as VaultCryptoError where error.code == .outOfMemory: self = Self.oprfBusy
        default: self.init(problem: .internalServerError, .failed, "The service failed.")
        }
    }

    private init(_ refusal: OPRFKeeper.Refusal) {
        switch refusal {
        case .invalidElement:
            self.init(problem: .unprocessableContent, .invalidElement, "The blinded element is invalid.")
        case .unauthorized:
            self.init(
                problem: .unauthorized, .unauthorized, "The key is unknown, or the request is not authenticated by it.")
            headers[.wwwAuthenticate] = "CV2"
        case .clock(let now):
            self.init(problem: .unauthorized, .clock, "The client's clock is more than 300 seconds off.", time: now)
            headers[.wwwAuthenticate] = "CV2"
        }
    }

    private init(_ refusal: StoredKey.Refusal) {
        switch refusal {
        case .exists: self.init(problem: .conflict, .exists, "Another key has this id.")
        case .conflict: self.init(problem: .conflict, .conflict, "The key has another confirm key.")
        case .unfinished: self.init(problem: .conflict, .unfinished, "The key was not confirmed yet.")
        case .busy: self = Self.oprfBusy
        case .locked: self.init(problem: .forbidden, .locked, "No guesses are left.")
        case .gone(.revoked): self.init(problem: .gone, .revoked, "The key was revoked.")
        case .gone(.destroyed): self.init(problem: .gone, .destroyed, "The key was locked for too long.")
        case .gone: self.init(problem: .gone, .ended, "The key was ended.")
        }
    }

    private init(
        problem status: HTTPResponse.Status, _ code: OPRFProblem.Code, _ title: String, time: Int64? = nil
    ) {
        let problem = OPRFProblem(status: status.code, title: title, code: code, time: time)
        self.init(
            status: status, body: ByteBuffer(bytes: (try? Self.encoder.encode(problem)) ?? Data()),
            headers: Self.problemHeaders)
    }

    private static let oprfBusy = {
        var answer = Answer(problem: .serviceUnavailable, .busy, "Too much work is waiting. Try again.")
        answer.headers[.retryAfter] = retryAfter
        return answer
    }()

    static func oprfMethodNotAllowed(allowed: String) -> Answer {
        var answer = Answer(problem: .methodNotAllowed, .methodNotAllowed, "The path takes another method.")
        answer.headers[.allow] = allowed
        return answer
    }

    static let oprfNoSuchPath = Answer(problem: .notFound, .noSuchPath, "There is nothing at this path.")
}
