internal import Foundation
internal import HTTPTypes
internal import OpenIDConnect
internal import VaultBase
internal import VaultHTTP
internal import VaultStorage

extension ServerEndpoint {
    /// Returns a connection to this server alone. Plain `http` on the local network was allowed when the address was
    /// made.
    func connection(over transport: any HTTPTransport) -> ProviderConnection {
        ProviderConnection(transport: transport, insecureOrigin: isInsecure ? EndpointURL.origin(of: url) : nil)
    }
}

/// A JSON connection to one backend over HTTP. It throws the usual errors.
struct BackendConnection: Sendable {
    let endpoint: ServerEndpoint
    let http: ProviderConnection

    /// The meaning of a refusal with this status and this text in the member `error`; nil for the usual meaning.
    typealias Meaning = @Sendable (_ status: Int, _ error: String?) -> OpenIDConnectError.Code?

    init(_ endpoint: ServerEndpoint, transport: any HTTPTransport) {
        self.endpoint = endpoint
        http = endpoint.connection(over: transport)
    }

    /// Reads a path. Even if the answer gets lost, nothing is used up.
    func get(_ path: String, token: String? = nil, meaning: Meaning = { _, _ in nil }) async throws -> JSONValue {
        do {
            let answer = try await http.send(.get, endpoint.url(path), fields: Self.fields(token))
            return try Self.object(in: answer, meaning, secrets: [token])
        } catch let error as OpenIDConnectError {
            throw error.processed(false)
        }
    }

    /// - Parameter secrets: parts of the request that must not be in an error if the backend repeats them.
    func post(
        _ path: String, json: JSONValue, secrets: [String?], meaning: Meaning = { _, _ in nil }
    ) async throws -> JSONValue {
        try Self.object(in: try await send(path, json: json), meaning, secrets: secrets)
    }

    /// Posts credentials that a person typed. The backend may ask for another one.
    ///
    /// - Parameters:
    ///   - refusals: the statuses that mean "wrong credentials".
    ///   - asksForMore: whether an answer asks for another credential, by its status and its JSON.
    /// - Throws: also ``VaultError`` with code `tooManyAttempts`.
    func post(
        _ path: String, credentials: JSONValue, secrets: [String?], refusals: Set<Int>, now: Date,
        asksForMore: (Int, JSONValue) -> Bool = { _, _ in false }
    ) async throws -> (answer: JSONValue, asksForMore: Bool) {
        let answer = try await send(path, json: credentials)
        if let json = JSONValue(objectIn: answer.body), asksForMore(answer.status.code, json) { return (json, true) }
        if answer.status == .tooManyRequests { throw Self.tooMany(answer, now: now, secrets: secrets) }
        let meaning: Meaning = { status, _ in refusals.contains(status) ? .wrongCredentials : nil }
        return (try Self.object(in: answer, meaning, secrets: secrets), false)
    }

    /// Posts JSON. Only the status of the answer counts.
    ///
    /// - Throws: also ``VaultError`` with code `tooManyAttempts`.
    func tell(_ path: String, json: JSONValue, token: String? = nil, secrets: [String?], now: Date) async throws {
        let answer = try await send(path, json: json, token: token)
        let secrets = secrets + [token]
        if answer.status == .tooManyRequests { throw Self.tooMany(answer, now: now, secrets: secrets) }
        try Self.check(answer, { _, _ in nil }, secrets: secrets)
    }

    /// Tells the backend that the person logged out on this machine.
    func tellLogout(_ path: String?, token: String, now: Date) async throws {
        guard let path else { return }
        try await tell(path, json: .object([:]), token: token, secrets: [], now: now)
    }

    func delete(_ path: String) async throws {
        try Self.check(try await http.send(.delete, endpoint.url(path)), { _, _ in nil }, secrets: [])
    }

    /// Ends a token at the backend. Any answer with a good status will do.
    ///
    /// - Parameter bearer: the access token for the header; nil for none.
    func end(_ path: String, json: JSONValue, secret: String, bearer: String?) async throws {
        guard !path.isEmpty else { throw OpenIDConnectError(.unsupported, "ending tokens") }
        let answer = try await send(path, json: json, token: bearer)
        try Self.check(answer, Self.endingMeaning, secrets: [secret, bearer])
    }

    /// Whether the backend has a call. It refuses an empty request to such a call, but not with 404.
    ///
    /// - Parameter token: the access token for the header; nil for none. Without the token of the call, a backend may
    ///   answer 401 to each path.
    func has(_ path: String, token: String?) async -> Bool {
        guard let status = try? await send(path, json: .object([:]), token: token).status.code,
            ProviderConnection.outage(status) == nil
        else { return false }
        return Self.isThere(status) && ![401, 403].contains(status)
    }

    /// Whether a call with this status exists. A refusal of an empty request proves that, too.
    static func isThere(_ status: Int) -> Bool {
        (200..<300).contains(status) || (400..<500).contains(status) && ![404, 405, 410].contains(status)
    }

    /// The backend's words for the person in an answer that is no error; nil if there are none. They have no control
    /// characters and none of these secrets.
    static func words(in answer: JSONValue, secrets: [String?]) -> String? {
        let words = words(in: answer)
        let error = OpenIDConnectError(.refused, "", providerDescription: harmless(words.description, secrets))
        return error.providerDescription
    }

    private static let endingMeaning: Meaning = { status, _ in [404, 405, 501].contains(status) ? .unsupported : nil }

    private func send(_ path: String, json: JSONValue, token: String? = nil) async throws -> HTTPAnswer {
        try await http.post(endpoint.url(path), json: json, fields: Self.fields(token))
    }

    private static func fields(_ token: String?) -> HTTPFields {
        token.map { [.authorization: "Bearer \($0)"] } ?? [:]
    }

    // MARK: - Answers

    private static func object(in answer: HTTPAnswer, _ meaning: Meaning, secrets: [String?]) throws -> JSONValue {
        try check(answer, meaning, secrets: secrets)
        guard let json = JSONValue(objectIn: answer.body) else {
            throw OpenIDConnectError(
                .invalidAnswer, "it is not a JSON object", status: answer.status.code, mayHaveBeenProcessed: true)
        }
        return json
    }

    private static func check(_ answer: HTTPAnswer, _ meaning: Meaning, secrets: [String?]) throws {
        let status = answer.status.code
        guard !(200..<300).contains(status) else { return }
        let json = JSONValue(objectIn: answer.body)
        let isRefusal = (400..<500).contains(status)
        let code: OpenIDConnectError.Code =
            if ProviderConnection.outage(status) != nil {
                meaning(status, nil) ?? .unavailable
            } else if isRefusal {
                meaning(status, json?["error"]?.string) ?? .refused
            } else {
                .invalidAnswer
            }
        let words = words(in: json)
        let error = OpenIDConnectError(
            code, "HTTP \(status)", status: status, providerError: harmless(words.error, secrets),
            providerDescription: harmless(words.description, secrets), mayHaveBeenProcessed: !isRefusal
        ).ofServer(ProviderConnection.isOfServer(answer))
        // Without a description, the words have this code as the description.
        throw json?["error"]?.string == "invalid_grant" ? error.final() : error
    }

    /// Returns a text of the backend, unless it repeats a secret.
    private static func harmless(_ text: String?, _ secrets: [String?]) -> String? {
        guard let text, !secrets.compactMap(\.self).contains(where: { text.contains($0) }) else { return nil }
        return text
    }

    /// Returns the backend's words for an error: a code with a text for a person, as in OAuth, or only a text.
    private static func words(in json: JSONValue?) -> (error: String?, description: String?) {
        let error = json?["error"]?.string
        if let text = json?["error_description"]?.string ?? json?["message"]?.string { return (error, text) }
        return (nil, error ?? json?["error"]?["message"]?.string)
    }

    private static func tooMany(_ answer: HTTPAnswer, now: Date, secrets: [String?]) -> VaultError {
        let wait = answer.headerFields[.retryAfter].flatMap { retryAfter($0, now: now) }
        let words = JSONValue(objectIn: answer.body).flatMap { Self.words(in: $0, secrets: secrets) }
        let start = "The server refused the request after too many attempts"
        let text =
            if let wait {
                "\(start). Try again in \(wait == 1 ? "1 second" : "\(wait) seconds")."
            } else if let words {
                "\(start): \"\(words)\"."
            } else {
                "\(start). Try again later."
            }
        return VaultError(.tooManyAttempts, text, retryAfter: wait.map { .seconds($0) })
    }

    /// Returns the seconds of `Retry-After`, a number or a date (RFC 9110 section 10.2.3), at most a day.
    private static func retryAfter(_ text: String, now: Date) -> Int? {
        if let seconds = Int(text) { return seconds >= 0 ? min(seconds, 86_400) : nil }
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.date(from: text).map { Int(min(max($0.timeIntervalSince(now), 0), 86_400).rounded(.up)) }
    }
}
