internal import Foundation
internal import HTTPTypes
internal import KeyServiceAPI
internal import KeyServiceCore
internal import NIOCore
internal import VaultCrypto

// The answers of the protocol's version 1. Paths of no version answer errors in its form.
extension Answer {
    /// Makes the answer that gives out a key. Nothing in it needs escaping: `RequestParsing` limits the characters of
    /// ids, and the rest is base64 and numbers.
    init(_ key: KeyResponse) {
        status = .ok
        body = ByteBuffer()
        body.reserveCapacity(256)
        for text in [#"{"keyid":""#, key.keyid, #"","key":""#, key.key, #"","longsecret":""#, key.longsecret, #"""#] {
            body.writeString(text)
        }
        if let count = key.wrongGuesses { body.writeString(#","wrongGuesses":\#(count)"#) }
        if let time = key.lastWrongGuessAt { body.writeString(#","lastWrongGuessAt":\#(time)"#) }
        body.writeString("}")
    }

    private init(problem status: HTTPResponse.Status, _ body: KeyServiceProblem) {
        self.status = status
        self.body = ByteBuffer(bytes: (try? Self.encoder.encode(body)) ?? Data())
    }

    /// Makes the answer for `error`, with only the details that the client may know.
    init(_ error: any Error) {
        switch error {
        case let error as BadRequest:
            self.init(problem: error.status, KeyServiceProblem(error: "invalid_request"))
            // The rest of a large body is not worth reading.
            if error.status == .contentTooLarge { headers[.connection] = "close" }
        case let error as CreateQuota.Refusal:
            self = Self.busy
            headers[.retryAfter] = String(error.retryAfter)
        case let error as RefusalQuota.Exceeded:
            self = Self.busy
            headers[.retryAfter] = String(error.retryAfter)
        case let error as KeyServiceServerError:
            let problem = KeyServiceProblem(error: error.code.name, guessesRemaining: error.guessesRemaining)
            switch error.code {
            case .wrongSecret: self.init(problem: .unauthorized, problem)
            case .keyLocked: self.init(problem: .forbidden, problem)
            case .noSuchKey: self.init(problem: .notFound, problem)
            case .invalidRequest: self.init(problem: .badRequest, problem)
            case .busy: self = Self.busy
            default: self = Self.fault
            }
        case let error as VaultCryptoError where error.code == .outOfMemory: self = Self.busy
        default: self = Self.fault
        }
    }

    static func methodNotAllowed(allowed: String) -> Answer {
        var answer = Answer(problem: .methodNotAllowed, KeyServiceProblem(error: "invalid_request"))
        answer.headers[.allow] = allowed
        return answer
    }

    static let noSuchPath = Answer(problem: .notFound, KeyServiceProblem(error: "no_such_path"))

    static let busy = {
        var answer = Answer(problem: .serviceUnavailable, KeyServiceProblem(error: "busy"))
        answer.headers[.retryAfter] = retryAfter
        return answer
    }()

    private static let fault = Answer(problem: .internalServerError, KeyServiceProblem(error: "internal_error"))
}
