public import Foundation
internal import HTTPTypes
internal import KeyServiceAPI
internal import VaultBase
public import VaultCrypto
public import VaultHTTP

/// The key service over HTTP, protocol version 2.
public struct HTTPOPRFKeyService: OPRFKeyService {
    private let endpoint: KeyServiceEndpoint

    /// - Parameters:
    ///   - baseURL: the URL before `/keyservice/v2/…`, possibly with a path such as `/auth/realms/demo`. It is
    ///     `https:`, or `http:` to this machine.
    ///   - transport: carries the calls.
    ///   - limits: the time limits of a call.
    /// - Throws: ``KeyServiceError`` with code `invalidURL`.
    public init(baseURL: String, transport: any HTTPTransport, limits: HTTPLimits = HTTPLimits()) throws {
        endpoint = try KeyServiceEndpoint(baseURL: baseURL, transport: transport, limits: limits)
    }

    package init(_ endpoint: KeyServiceEndpoint) { self.endpoint = endpoint }

    /// Asks for the versions with `GET`. An outage is an error. For any other answer without a list of versions, the
    /// result is empty.
    ///
    /// - Throws: ``KeyServiceError``: `unavailable`, `busy`: try again. `invalidURL`, `configurationInvalid`: correct
    ///   the setting that the text names. `CancellationError` when the task is cancelled.
    public func protocolVersions() async throws -> Set<Int> {
        let answer = try await endpoint.send(OPRFPath.base)
        if [429, 502, 503, 504].contains(answer.status.code) { throw endpoint.busy }
        // 501: another web server, which does not know such a request.
        if (500...599).contains(answer.status.code) && answer.status.code != 501 { throw endpoint.refusal(answer) }
        guard answer.status == .ok, let list: ProtocolVersions = answer.decoded() else { return [] }
        return Set(list.versions)
    }

    /// Makes a key with `POST keys`.
    ///
    /// - Throws: ``KeyServiceError``: `unavailable`, `busy`: call it again with the same values. `invalidAnswer`: check
    ///   the URL of the service. `invalidURL`, `configurationInvalid`: correct the setting that the text names.
    ///   `CancellationError` when the task is cancelled. The signature of the answer is not checked here.
    public func createKey(_ key: NewOPRFKey) async throws -> FirstEvaluation {
        let body = CreateOPRFKeyRequest(
            id: key.id, requestKey: key.requestKey.bytes.withUnsafeBytes { Array($0) }, endKey: key.endKey,
            blinded: key.blinded.bytes, label: key.label)
        let answer = try await post(OPRFPath.keys, body)
        guard let created: CreatedOPRFKey = answer.decoded(),
            created.ticket.bytes == OPRFDerivation.ticket(key.id, key.blinded)
        else { throw endpoint.breaksProtocol }
        let identity = created.identity.map(ServiceIdentity.init)
        // A malformed identity is no older service.
        if case .some(.none) = identity { throw endpoint.breaksProtocol }
        return FirstEvaluation(
            element: try element(created.evaluated, for: key.blinded), ticket: created.ticket.bytes,
            claimWithin: created.claimWithin, identity: identity.flatMap(\.self), signature: created.signature?.bytes)
    }

    /// Evaluates a guess with `POST evaluate`.
    ///
    /// - Throws: ``KeyServiceError``: `keyLocked`, `noSuchKey`, `unfinished`, `keyEnded`, `keyRevoked`, `keyDestroyed`:
    ///   use another unlock method, or register again. `clock`: call it again with ``KeyServiceError/serviceTime``.
    ///   `busy`: call it again with the same element. `unavailable`: call it again with the same element; the guess may
    ///   count. `invalidAnswer`: check the URL of the service. `invalidURL`, `configurationInvalid`: correct the
    ///   setting that the text names. `CancellationError` when the task is cancelled; the guess may count.
    public func evaluate(
        _ id: String, _ blinded: RistrettoElement, requestKey: borrowing SecretBytes, at date: Date
    ) async throws -> Evaluation {
        let body = try Self.encoded(EvaluateRequest(blinded: blinded.bytes))
        // A clock far off must not trap here.
        let seconds = String(Int64(max(0, min(date.timeIntervalSince1970, 1e15))))
        let message = OPRFMessage.evaluate(id: id, seconds: seconds, bodyHash: PublicHash.sha512(body))
        let code = try RequestMAC.code(of: message, key: requestKey)
        let answer = try await endpoint.send(
            OPRFPath.key(id, .evaluate), body: body,
            fields: [.authorization: "CV2 \(seconds).\(Base64URL.encode(code))"])
        let isAuthentic = try isAuthentic(answer, id, code, requestKey)
        guard answer.status == .ok else {
            let refusal = endpoint.refusal(answer)
            // Somebody between here and the service must not be able to say these.
            let authentic: Set<KeyServiceError.Code> = [
                .clock, .keyLocked, .unfinished, .keyEnded, .keyRevoked, .keyDestroyed,
            ]
            throw authentic.contains(refusal.code) && !isAuthentic ? isNotAuthentic : refusal
        }
        guard answer.isJSON else { throw endpoint.breaksProtocol }
        guard isAuthentic else { throw isNotAuthentic }
        guard let evaluated: EvaluateAnswer = answer.decoded(), evaluated.guessesRemaining >= 0,
            // Another ticket would make this client confirm the guess of somebody else.
            evaluated.ticket.bytes == OPRFDerivation.ticket(id, blinded),
            evaluated.open.allSatisfy({ $0.ticket.bytes.count == OPRFSize.ticket }),
            evaluated.open.contains(where: { $0.ticket == evaluated.ticket })
        else { throw endpoint.breaksProtocol }
        return Evaluation(
            element: try element(evaluated.evaluated, for: blinded), ticket: evaluated.ticket.bytes,
            guessesRemaining: evaluated.guessesRemaining,
            open: evaluated.open.map {
                .init(ticket: $0.ticket.bytes, date: Date(timeIntervalSince1970: TimeInterval($0.at)))
            }, ownerUnlockedAt: evaluated.ownerUnlockedAt.map { Date(timeIntervalSince1970: TimeInterval($0)) })
    }

    /// Confirms guesses with `POST confirm`.
    ///
    /// - Throws: ``KeyServiceError``: `unavailable`, `busy`: call it again later. `noSuchKey`: the key is unknown, or
    ///   has another confirm key. `keyEnded`, `keyRevoked`, `keyDestroyed`: forget the confirmation. `invalidAnswer`:
    ///   check the URL of the service. `CancellationError` when the task is cancelled: call it again later.
    public func confirm(_ confirmation: KeyConfirmation) async throws {
        let body = ConfirmRequest(
            tickets: confirmation.tickets, signature: confirmation.signature,
            confirmKey: confirmation.installation?.confirmKey, endSignature: confirmation.installation?.endSignature)
        _ = try await post(OPRFPath.key(confirmation.id, .confirm), body)
    }

    /// Ends a key with `POST end`.
    ///
    /// - Throws: ``KeyServiceError``: `unavailable`, `busy`: call it again later. `noSuchKey`: the key is unknown, or
    ///   has another end key. `keyRevoked`, `keyDestroyed`, `keyEnded`: the key is ended. `invalidAnswer`: check the
    ///   URL of the service. `CancellationError` when the task is cancelled: call it again later.
    public func endKey(id: String, signature: [UInt8]) async throws {
        _ = try await post(OPRFPath.key(id, .end), EndRequest(signature: signature))
    }

    // MARK: - The parts

    private func post(_ path: String, _ body: some Encodable) async throws -> HTTPAnswer {
        let answer = try await endpoint.send(path, body: Self.encoded(body))
        guard answer.status == .ok else { throw endpoint.refusal(answer) }
        // A page of a proxy says nothing about a key.
        guard answer.isJSON else { throw endpoint.breaksProtocol }
        return answer
    }

    /// Whether the key's request key authenticates an answer.
    private func isAuthentic(
        _ answer: HTTPAnswer, _ id: String, _ requestCode: [UInt8], _ requestKey: borrowing SecretBytes
    ) throws -> Bool {
        let prefix = "mac="
        guard let field = answer.headerFields[.authenticationInfo], field.hasPrefix(prefix),
            let code = Base64URL.decode(String(field.dropFirst(prefix.count)))
        else { return false }
        let message = OPRFMessage.answer(
            id: id, code: requestCode, bodyHash: PublicHash.sha512(answer.body))
        return try RequestMAC.isValid(code, of: message, key: requestKey)
    }

    private var isNotAuthentic: KeyServiceError {
        KeyServiceError(
            .invalidAnswer,
            "The answer does not come from the key service at \(endpoint.authority), or was changed on its way. Check the network and the key service's URL."
        )
    }

    private static func encoded(_ body: some Encodable) throws -> [UInt8] { Array(try JSONEncoder().encode(body)) }

    /// Refuses an element that is invalid or zero, and the one that was sent: it would come from a key that everybody
    /// knows.
    private func element(_ bytes: JSONBytes, for blinded: RistrettoElement) throws -> RistrettoElement {
        guard let element = try? RistrettoElement(bytes.bytes), element != blinded else {
            throw KeyServiceError(
                .invalidAnswer, "The key service at \(endpoint.authority) answered with an impossible element.")
        }
        return element
    }
}
