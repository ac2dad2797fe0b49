public import FoundationEssentials
public import HTTPTypes

/// A REST API with JSON below one base URL, over any transport.
///
/// A path is always below the base URL, with or without a slash before it. A whole URL is taken as it is if it has the
/// base URL's origin, such as the link to the next page; one of another origin is refused, so that no token goes there.
/// Each request says `Accept: application/json`, and `Content-Type: application/json` if it has a body. Dates are ISO
/// 8601 unless ``decoder`` and ``encoder`` say something else.
///
/// Every call throws ``HTTPStatusError`` for an answer that is no success (300 and more), what the transport throws, and
/// ``HTTPError``: `unexpectedAnswer` for a body that is not the JSON that was asked for, and `outsideBaseURL` for a path
/// that is not below the base URL.
public struct JSONClient: Sendable {
    /// Header fields of each request, besides those for JSON. What is named here wins.
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
    ///   - baseURL: where the API is: `https://api.example.com/v1`.
    ///   - transport: carries the requests.
    /// - Throws: ``HTTPError`` with code `forbiddenURL` when the base URL is none.
    public init(baseURL: String, over transport: any HTTPTransport) throws {
        base = try BaseURL(baseURL)
        self.transport = transport
        decoder.dateDecodingStrategy = .iso8601
        encoder.dateEncodingStrategy = .iso8601
    }

    /// What is at `path`.
    ///
    /// - Parameters:
    ///   - path: below the base URL, as it stands in a URL: `notes/7`.
    ///   - query: names and values, as a person reads them.
    ///   - type: the type to decode the answer as.
    public func get<Value: Decodable>(
        _ path: String, query: KeyValuePairs<String, String> = [:], as type: Value.Type = Value.self
    ) async throws -> Value {
        try decode(type, await send(.get, path, query: query))
    }

    /// Posts `body` as JSON, and returns what the API answers.
    public func post<Value: Decodable>(
        _ path: String, _ body: some Encodable, as type: Value.Type = Value.self
    ) async throws -> Value {
        try decode(type, await send(.post, path, body: body))
    }

    /// Posts `body` as JSON. What the API answers is returned as it is.
    @discardableResult
    public func post(_ path: String, _ body: some Encodable) async throws -> HTTPAnswer {
        try await send(.post, path, body: body)
    }

    /// Puts `body` there as JSON.
    @discardableResult
    public func put(_ path: String, _ body: some Encodable) async throws -> HTTPAnswer {
        try await send(.put, path, body: body)
    }

    /// Changes what is there by `body`, as JSON.
    @discardableResult
    public func patch(_ path: String, _ body: some Encodable) async throws -> HTTPAnswer {
        try await send(.patch, path, body: body)
    }

    /// Deletes what is there.
    @discardableResult
    public func delete(_ path: String) async throws -> HTTPAnswer { try await send(.delete, path) }

    /// Sends a request without a body.
    ///
    /// - Returns: the answer, which is a success.
    public func send(
        _ method: HTTPRequest.Method, _ path: String, query: KeyValuePairs<String, String> = [:]
    ) async throws -> HTTPAnswer {
        try await send(method, path, query: query, bytes: nil)
    }

    /// Sends a request with a body of JSON.
    ///
    /// - Returns: the answer, which is a success.
    /// - Throws: also `EncodingError`, for a `body` that is no JSON.
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
        // A redirect is not followed, so it is not what was asked for.
        guard answer.status.code < 300 else { throw HTTPStatusError(status: answer.status.code, message: nil) }
        return answer
    }

    private func decode<Value: Decodable>(_ type: Value.Type, _ answer: HTTPAnswer) throws -> Value {
        do {
            return try decoder.decode(type, from: Data(answer.body))
        } catch {
            // The error of the decoder quotes the body, so it goes no further.
            throw HTTPError(.unexpectedAnswer, authority: base.authority)
        }
    }
}
