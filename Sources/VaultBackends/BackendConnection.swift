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

    /// Posts credentials that a person typed.
    ///
    /// - Parameter refusals: the statuses that mean "wrong credentials".
    /// - Throws: also ``VaultError`` with code `tooManyAttempts`.
    func post(
        _ path: String, credentials: JSONValue, password: String, refusals: Set<Int>, now: Date
    ) async throws -> JSONValue {
        let answer = try await send(path, json: credentials)
        if answer.status == .tooManyRequests { throw Self.tooMany(answer, now: now) }
        let meaning: Meaning = { status, _ in refusals.contains(status) ? .wrongCredentials : nil }
        return try Self.object(in: answer, meaning, secrets: [password])
    }

    /// Posts JSON. Only the status of the answer counts.
    ///
    /// - Throws: also ``VaultError`` with code `tooManyAttempts`.
    func tell(_ path: String, json: JSONValue, token: String? = nil, secrets: [String?], now: Date) async throws {
        let answer = try await send(path, json: json, token: token)
        if answer.status == .tooManyRequests { throw Self.tooMany(answer, now: now) }
        try Self.check(answer, { _, _ in nil }, secrets: secrets + [token])
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
    /// - Parameters:
    ///   - isBearer: whether the token goes into the header, too.
    ///   - accepted: statuses that also mean success.
    func end(
        _ path: String, json: JSONValue, secret: String, isBearer: Bool = false, accepted: Set<Int> = []
    ) async throws {
        guard !path.isEmpty else { throw OpenIDConnectError(.unsupported, "ending tokens") }
        let answer = try await send(path, json: json, token: isBearer ? secret : nil)
        if accepted.contains(answer.status.code) { return }
        try Self.check(answer, Self.endingMeaning, secrets: [secret])
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
        let secrets = secrets.compactMap { $0 }
        func harmless(_ text: String?) -> String? {
            text.flatMap { text in secrets.contains { text.contains($0) } ? nil : text }
        }
        throw OpenIDConnectError(
            code, "HTTP \(status)", status: status, providerError: harmless(words.error),
            providerDescription: harmless(words.description), mayHaveBeenProcessed: !isRefusal)
    }

    /// Returns the backend's words for an error: OAuth's two members, or any text for a person.
    private static func words(in json: JSONValue?) -> (error: String?, description: String?) {
        if let description = json?["error_description"]?.string { return (json?["error"]?.string, description) }
        return (nil, json?["error"]?.string ?? json?["error"]?["message"]?.string ?? json?["message"]?.string)
    }

    private static func tooMany(_ answer: HTTPAnswer, now: Date) -> VaultError {
        let wait = answer.headerFields[.retryAfter].flatMap { retryAfter($0, now: now) }
        let hint = wait.map { "Try again in \($0 == 1 ? "1 second" : "\($0) seconds")." } ?? "Try again later."
        return VaultError(
            .tooManyAttempts, "The server refused the request after too many attempts. \(hint)",
            retryAfter: wait.map { .seconds($0) })
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
