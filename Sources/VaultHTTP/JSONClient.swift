public import FoundationEssentials
public import HTTPTypes

/// A client of a REST API with JSON below one base URL, over any transport.
///
/// A path is always below the base URL, with or without a slash at its start. A whole URL, such as a link to the next
/// page, must have the base URL's origin. Another origin is refused, so that it gets no token. Each request has
/// `Accept: application/json`, and `Content-Type: application/json` if it has a body. Dates are ISO 8601 by default;
/// see ``decoder`` and ``encoder``.
///
/// Every call throws ``HTTPStatusError`` for a status of 300 or more, the transport's errors, and ``HTTPError``:
/// `unexpectedAnswer` for unexpected JSON, `outsideBaseURL` for a path outside the base URL.
public struct JSONClient: Sendable {
    /// The header fields of each request. They replace the JSON fields of the same name.
    public var headerFields: HTTPFields = [:]
    /// The time limits and the size limit of each call.
    public var limits = HTTPLimits()
    /// The decoder for answers. It reads dates in ISO 8601.
    public var decoder = JSONDecoder()
    /// The encoder for bodies. It writes dates in ISO 8601.
    public var encoder = JSONEncoder()
    private let base: BaseURL
    private let transport: any HTTPTransport

    /// - Parameters:
    ///   - baseURL: the address of the API: `https://api.example.com/v1`.
    ///   - transport: carries the requests.
    /// - Throws: ``HTTPError`` with code `forbiddenURL` if the base URL is not valid.
    public init(baseURL: String, over transport: any HTTPTransport) throws {
        base = try BaseURL(baseURL)
        self.transport = transport
        decoder.dateDecodingStrategy = .iso8601
        encoder.dateEncodingStrategy = .iso8601
    }

    /// Gets the value at `path`.
    ///
    /// - Parameters:
    ///   - path: a path below the base URL, escaped as in a URL: `notes/7`.
    ///   - query: names and values, not escaped.
    ///   - type: the type to decode the answer as.
    public func get<Value: Decodable>(
        _ path: String, query: KeyValuePairs<String, String> = [:], as type: Value.Type = Value.self
    ) async throws -> Value {
        try decode(type, await send(.get, path, query: query))
    }

    /// Gets the bytes at `path`, which need not be JSON.
    package func bytes(_ path: String) async throws -> [UInt8] { try await send(.get, path).body }

    /// Posts `body` as JSON, and returns the decoded answer.
    public func post<Value: Decodable>(
        _ path: String, _ body: some Encodable, as type: Value.Type = Value.self
    ) async throws -> Value {
        try decode(type, await send(.post, path, body: body))
    }

    /// Posts `body` as JSON, and returns the raw answer.
    @discardableResult
    public func post(_ path: String, _ body: some Encodable) async throws -> HTTPAnswer {
        try await send(.post, path, body: body)
    }

    /// Puts `body` at the path as JSON.
    @discardableResult
    public func put(_ path: String, _ body: some Encodable) async throws -> HTTPAnswer {
        try await send(.put, path, body: body)
    }

    /// Patches the value at the path with `body` as JSON.
    @discardableResult
    public func patch(_ path: String, _ body: some Encodable) async throws -> HTTPAnswer {
        try await send(.patch, path, body: body)
    }

    /// Deletes the value at the path.
    @discardableResult
    public func delete(_ path: String) async throws -> HTTPAnswer { try await send(.delete, path) }

    /// Sends a request without a body.
    ///
    /// - Returns: the answer, with a status below 300.
    public func send(
        _ method: HTTPRequest.Method, _ path: String, query: KeyValuePairs<String, String> = [:]
    ) async throws -> HTTPAnswer {
        try await send(method, path, query: query, bytes: nil)
    }

    /// Sends a request with a JSON body.
    ///
    /// - Returns: the answer, with a status below 300.
    /// - Throws: also `EncodingError`, for a `body` that is not JSON.
    public func send(_ method: HTTPRequest.Method, _ path: String, body: some Encodable) async throws -> HTTPAnswer {
        try await send(method, path, query: [:], bytes: Array(encoder.encode(body)))
    }

    private func send(
        _ method: HTTPRequest.Method, _ path: String, query: KeyValuePairs<String, String>, bytes: [UInt8]?
    ) async throws -> HTTPAnswer {
        var fields: HTTPFields = [.accept: "application/json"]
        if bytes != nil { fields[.contentType] = "application/json" }
        for field in headerFields { fields[field.name] = nil }
        fields.append(contentsOf: headerFields)
        let request = HTTPRequest(
            method: method, scheme: base.scheme, authority: base.authority, path: try base.path(of: path, query: query),
            headerFields: fields)
        let answer = try await transport.send(request, body: bytes ?? [], limits: limits).requireSuccess()
        // Redirects are not followed, so they are failures.
        guard answer.status.code < 300 else { throw HTTPStatusError(status: answer.status.code, message: nil) }
        return answer
    }

    private func decode<Value: Decodable>(_ type: Value.Type, _ answer: HTTPAnswer) throws -> Value {
        do {
            return try decoder.decode(type, from: Data(answer.body))
        } catch {
            // The decoder's error quotes the body, so it is dropped.
            throw HTTPError(.unexpectedAnswer, authority: base.authority)
        }
    }
}
