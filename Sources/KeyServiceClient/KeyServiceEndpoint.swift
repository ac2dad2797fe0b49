internal import Foundation
internal import HTTPTypes
internal import KeyServiceAPI
package import Logging
package import VaultHTTP

/// The address of a key service, the requests to it, and their answers. Each version of the protocol uses it. The log
/// gets the name of each call and the status of its answer, but no secrets, keys or ids of keys.
package struct KeyServiceEndpoint: Sendable {
    let scheme: String
    let authority: String
    let basePath: String
    private let transport: any HTTPTransport
    private let limits: HTTPLimits
    private let logger: Logger?

    /// - Throws: ``KeyServiceError`` with code `invalidURL`.
    package init(baseURL: String, transport: any HTTPTransport, limits: HTTPLimits, logger: Logger? = nil) throws {
        guard let parts = URLComponents(string: baseURL), let scheme = parts.scheme?.lowercased(),
            scheme == "https" || scheme == "http", let host = parts.host, !host.isEmpty, parts.query == nil,
            parts.fragment == nil, parts.user == nil
        else {
            throw KeyServiceError(
                .invalidURL, "The key service's URL must look like https://keys.example.com, with no query in it.")
        }
        self.scheme = scheme
        authority = parts.port.map { "\(host):\($0)" } ?? host
        var path = parts.percentEncodedPath
        while path.hasSuffix("/") { path.removeLast() }
        basePath = path
        self.transport = transport
        self.limits = limits
        self.logger = logger
    }

    /// Sends one request and returns the whole answer with any status.
    ///
    /// - Parameters:
    ///   - path: the path below the base URL.
    ///   - body: JSON; nil for a `GET`.
    /// - Throws: ``KeyServiceError``: `unavailable`, `invalidURL`, `configurationInvalid`. `CancellationError`.
    func send(_ path: String, body: [UInt8]? = nil, fields: HTTPFields = [:]) async throws -> HTTPAnswer {
        var headers = fields
        headers[.accept] = "application/json"
        if body != nil { headers[.contentType] = "application/json" }
        let request = HTTPRequest(
            method: body == nil ? .get : .post, scheme: scheme, authority: authority, path: basePath + path,
            headerFields: headers)
        // The last part of a path is never an id.
        let about: Logger.Metadata = ["call": .string(path.split(separator: "/").last.map(String.init) ?? "")]
        do {
            let answer = try await transport.send(request, body: body ?? [], limits: limits)
            logger?.log(
                level: answer.status.code < 400 ? .debug : .notice, "key service: answered",
                metadata: about.merging(["status": "\(answer.status.code)"]) { $1 })
            return answer
        } catch let error as HTTPError where error.code == .cancelled {
            throw CancellationError()
        } catch {
            let code = (error as? HTTPError)?.code.name ?? "\(type(of: error))"
            logger?.notice("key service: no answer", metadata: about.merging(["error": .string(code)]) { $1 })
            throw meaning(of: error)
        }
    }

    /// The URL of a path below the base URL.
    func url(of path: String) -> String { "\(scheme)://\(authority)\(basePath)\(path)" }

    private func meaning(of error: any Error) -> KeyServiceError {
        guard let error = error as? HTTPError else { return silent(error) }
        return switch error.code {
        case .forbiddenURL:
            KeyServiceError(.invalidURL, "The key service needs https (plain http only works on this machine).")
        case .untrustedCertificate:
            KeyServiceError(.unavailable, "The key service: \(error.description)", underlying: error)
        case .certificateFileInvalid: KeyServiceError(.configurationInvalid, error.description, underlying: error)
        default: silent(error)
        }
    }

    private func silent(_ error: any Error) -> KeyServiceError {
        KeyServiceError(.unavailable, "The key service at \(authority) does not answer.", underlying: error)
    }

    var nothingHere: KeyServiceError { .nothing(at: "\(scheme)://\(authority)\(basePath)") }
}

extension KeyServiceError {
    /// Returns the error for a server that does not answer as a key service does.
    package static func nothing(at url: String) -> KeyServiceError {
        KeyServiceError(
            .invalidAnswer,
            "There is no key service at \(url). Check the URL and its base path, or ask the operator of the key service."
        )
    }
}

extension HTTPAnswer {
    /// Whether the body is JSON. A proxy's own page says nothing about a key.
    var isJSON: Bool {
        headerFields[.contentType]?.lowercased().hasPrefix("application/json") ?? body.isEmpty
    }

    /// The body as JSON; nil if it is something else.
    func decoded<Body: Decodable>() -> Body? { try? JSONDecoder().decode(Body.self, from: Data(body)) }
}

// The refusals of protocol version 2.
extension KeyServiceEndpoint {
    /// Returns the error for an answer that is no success.
    ///
    /// - Parameter isOfOwner: whether an access token proved who asks: then the call is about a list of devices.
    func refusal(_ answer: HTTPAnswer, ofOwner isOfOwner: Bool = false) -> KeyServiceError {
        let problem: OPRFProblem? = answer.decoded()
        let code = problem.flatMap { $0.status == answer.status.code ? OPRFProblem.Code(rawValue: $0.code) : nil }
        switch (answer.status.code, code) {
        case (401, .invalidToken): return invalidToken
        case (401, .invalidProof):
            return KeyServiceError(
                .invalidProof,
                "The key service at \(authority) does not accept the proof for the access token (DPoP).")
        case (401, .unauthorized):
            return KeyServiceError(.noSuchKey, "The key service does not know this key.")
        case (401, .clock):
            return KeyServiceError(
                .clock, "The clock of this machine and the clock of the key service differ by more than 5 minutes.",
                serviceTime: problem?.time.map { Date(timeIntervalSince1970: TimeInterval($0)) })
        case (401, .signInAgain):
            return KeyServiceError(
                .signInTooOld,
                "The key service at \(authority) needs an access token with a sign-in of the last 5 minutes (auth_time)."
            )
        case (403, .unlockedToday):
            return KeyServiceError(.unlockedToday, "The key was unlocked by a sign-in in the last 24 hours.")
        case (403, .locked) where isOfOwner:
            return KeyServiceError(
                .keyLocked,
                "The key has had too many guesses in all. Only the operator of the key service can unlock it.")
        case (403, .locked): return KeyServiceError(.keyLocked, "The key is locked after too many wrong guesses.")
        case (404, .noSuchDevice): return KeyServiceError(.noSuchDevice, "The list has no such key.")
        case (404, .noSuchPath) where isOfOwner:
            return KeyServiceError(.noDeviceLists, "The key service at \(authority) keeps no lists of devices.")
        case (404, .noSuchPath), (404, nil): return nothingHere
        case (409, .unfinished): return KeyServiceError(.unfinished, "The key is not finished: it has no confirmation.")
        case (409, .conflict) where isOfOwner:
            return KeyServiceError(.ownedByAnother, "The key is on the list of another person.")
        case (410, .revoked): return KeyServiceError(.keyRevoked, "This device was revoked.")
        case (410, .destroyed):
            return KeyServiceError(.keyDestroyed, "The key service destroyed the key, because it was locked too long.")
        case (410, .ended): return KeyServiceError(.keyEnded, "The key was ended.")
        case (429, _), (503, _): return busy
        case (500, _), (502, _), (504, _):
            // The service may have carried out the request, so the same call again is right.
            return KeyServiceError(
                .unavailable, "The key service at \(authority) failed (status \(answer.status.code)).",
                underlying: HTTPError(.interrupted, authority: authority))
        default:
            return KeyServiceError(
                .invalidAnswer, "The key service at \(authority) refused the request (status \(answer.status.code)).")
        }
    }

    var busy: KeyServiceError { KeyServiceError(.busy, "The key service at \(authority) is busy.") }

    var breaksProtocol: KeyServiceError {
        KeyServiceError(.invalidAnswer, "The answer of the key service at \(authority) breaks its protocol.")
    }

    var invalidToken: KeyServiceError {
        KeyServiceError(.invalidToken, "The key service at \(authority) does not accept this account's access token.")
    }
}
