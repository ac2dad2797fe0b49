internal import Foundation
internal import HTTPTypes
internal import KeyServiceAPI
public import VaultCrypto
public import VaultHTTP

/// The key service over HTTP, protocol version 1 (Trifork Identity Manager's).
public struct HTTPKeyService: KeyService {
    private let endpoint: KeyServiceEndpoint
    var authority: String { endpoint.authority }
    private var nothingHere: KeyServiceError { endpoint.nothingHere }

    /// - Parameters:
    ///   - baseURL: the URL before `/keyservice/v1/…`, possibly with a path such as `/auth/realms/demo`. It is
    ///     `https:`, or `http:` to this machine.
    ///   - transport: carries the calls.
    ///   - limits: the time limits of a call.
    /// - Throws: ``KeyServiceError`` with code `invalidURL`.
    public init(baseURL: String, transport: any HTTPTransport, limits: HTTPLimits = HTTPLimits()) throws {
        endpoint = try KeyServiceEndpoint(baseURL: baseURL, transport: transport, limits: limits)
    }

    package init(_ endpoint: KeyServiceEndpoint) { self.endpoint = endpoint }

    /// Makes a new key with `POST createkey`.
    ///
    /// - Parameter secret: UTF-8 text, at least one byte.
    /// - Throws: ``KeyServiceError``: `unavailable`: try again; a key without a user may be left at the service.
    ///   `invalidAnswer`: check the URL of the service. `invalidURL`, `configurationInvalid`: correct the setting that
    ///   the text names. `CancellationError` when the task is cancelled.
    public func createKey(secret: borrowing SecretBytes) async throws -> ReleasedKey {
        let text = try Self.text(secret)
        let answer = try await post(KeyServicePath.createKey, CreateKeyRequest(secret: text))
        guard answer.status == .ok else {
            let refusal = refusal(answer)
            throw refusal.code == .noSuchKey ? nothingHere : refusal
        }
        return try Self.key(in: answer)
    }

    /// Asks for a key with `POST key`. It sends one request and never tries again.
    ///
    /// - Parameters:
    ///   - id: the id of the key at the service.
    ///   - secret: UTF-8 text, at least one byte.
    ///   - kind: the kind of secret: one of the key's two.
    /// - Throws: ``KeyServiceError``: `wrongSecret`: ask the person again. `keyLocked`, `noSuchKey`: register again.
    ///   `unavailable`: try again; the guess may count. `invalidAnswer`: check the URL of the service. `invalidURL`,
    ///   `configurationInvalid`: correct the setting that the text names. `CancellationError` when the task is
    ///   cancelled; the guess may count.
    public func releaseKey(
        id: String, secret: borrowing SecretBytes, kind: KeySecretKind
    ) async throws -> ReleasedKey {
        let text = try Self.text(secret)
        let request =
            switch kind {
            case .secret: KeyRequest(keyid: id, secret: text)
            case .longSecret: KeyRequest(keyid: id, longsecret: text)
            }
        let answer = try await post(KeyServicePath.key, request, renews: kind == .secret)
        guard answer.status == .ok else { throw refusal(answer) }
        let released = try Self.key(in: answer)
        guard released.id == id else {
            throw KeyServiceError(.invalidAnswer, "The key service answered with another key than the requested one.")
        }
        return released
    }

    /// Asks for a key without an id, which is not a guess. A key service refuses that request.
    public func checkReachable() async throws {
        let answer = try await post(KeyServicePath.key, KeyRequest(keyid: ""))
        let refusal = refusal(answer)
        // A web server without a key service answers like this.
        if (200..<400).contains(answer.status.code) || [405, 501].contains(answer.status.code) { throw nothingHere }
        if answer.status.code >= 500 || answer.status.code == 404 && refusal.code != .noSuchKey { throw refusal }
    }

    /// Checks that the server at the URL is a key service. It sends no guess.
    ///
    /// - Parameter mayBeVersion1: whether to accept a server that names no versions of the protocol. Services with only
    ///   version 1 name none, and so do many other servers.
    /// - Throws: as ``createKey(secret:)``.
    package func requireKeyService(mayBeVersion1: Bool) async throws {
        // Some proxies refuse the path of version 1.
        if try await !HTTPOPRFKeyService(endpoint).protocolVersions().isEmpty { return }
        try await checkReachable()
        if !mayBeVersion1 { throw nothingHere }
    }

    /// Whether the service says that it cannot work now. Only this package's service has the path `/readyz`.
    ///
    /// - Throws: as ``createKey(secret:)``.
    package func saysNotReady() async throws -> Bool {
        try await endpoint.send("/readyz").status.code == 503
    }

    static func text(_ secret: borrowing SecretBytes) throws -> String {
        guard let text = secret.utf8String(), !text.isEmpty else {
            throw KeyServiceError(.invalidAnswer, "The secret for the key service must be text.")
        }
        return text
    }

    func post(_ path: String, _ body: some Encodable, renews: Bool = false) async throws -> HTTPAnswer {
        var fields: HTTPFields = [:]
        if renews, let name = HTTPField.Name(KeyServiceHeader.renews) { fields[name] = "1" }
        return try await endpoint.send(path, body: Array(JSONEncoder().encode(body)), fields: fields)
    }

    func refusal(_ answer: HTTPAnswer) -> KeyServiceError {
        switch answer.status.code {
        case 401:
            return KeyServiceError(
                .wrongSecret, "The secret is wrong.", guessesRemaining: answer.problem?.guessesRemaining)
        case 403, 204:
            return KeyServiceError(.keyLocked, "The key is locked after too many wrong guesses.")
        case 404 where answer.isJSON && !answer.isAboutPath:
            return KeyServiceError(.noSuchKey, "The key service does not know this key.")
        case 404:
            return nothingHere
        case 429, 503, 502, 504:
            return KeyServiceError(.unavailable, "The key service at \(authority) is busy.")
        case 500:
            return KeyServiceError(.unavailable, "The key service at \(authority) failed (status 500).")
        default:
            return KeyServiceError(
                .invalidAnswer, "The key service at \(authority) refused the request (status \(answer.status.code)).")
        }
    }

    private static func key(in answer: HTTPAnswer) throws -> ReleasedKey {
        guard let response = try? JSONDecoder().decode(KeyResponse.self, from: Data(answer.body)),
            !response.keyid.isEmpty,
            let encoded = try? SecretBytes(utf8: response.key)
        else { throw KeyServiceError(.invalidAnswer, "The key service's answer breaks its protocol.") }
        let key: SecretBytes
        do {
            key = try SecretBase64.decode(encoded, .standard)
        } catch {
            throw KeyServiceError(.invalidAnswer, "The key service's key is not base64.")
        }
        guard key.count == 32 else {
            throw KeyServiceError(.invalidAnswer, "The key service's key is not 32 bytes long.")
        }
        return ReleasedKey(
            id: response.keyid, key: key, longSecret: try SecretBytes(utf8: response.longsecret),
            wrongGuesses: response.wrongGuesses.map { count in
                WrongGuesses(
                    count: count,
                    last: response.lastWrongGuessAt.map { Date(timeIntervalSince1970: TimeInterval($0)) })
            })
    }
}

// The answers of protocol version 1.
extension HTTPAnswer {
    /// The body of a refusal.
    var problem: KeyServiceProblem? { decoded() }

    /// Whether our own server says that it does not serve this base path.
    fileprivate var isAboutPath: Bool { problem?.error == "no_such_path" }

    /// Whether the body is a page for people.
    var isPage: Bool {
        !body.isEmpty && headerFields[.contentType]?.lowercased().contains("html") == true
    }
}
