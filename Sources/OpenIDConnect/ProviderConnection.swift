internal import HTTPTypes
internal import VaultHTTP

/// Speaks HTTP with a provider and turns what the transport throws into this library's errors.
struct ProviderConnection: Sendable {
    let transport: any HTTPTransport

    /// Fetches a JSON object.
    func getJSON(_ url: String, named name: String) async throws -> JSONValue {
        let answer: HTTPAnswer
        do {
            answer = try await send(.get, url, body: [])
        } catch let error as OpenIDConnectError {
            throw error.processed(false)  // Reading uses nothing up.
        }
        guard answer.status == .ok else {
            if let error = Self.outage(answer.status.code) { throw error.processed(false) }
            throw OpenIDConnectError(
                .invalidAnswer, "\(name) cannot be read (HTTP \(answer.status.code))", status: answer.status.code)
        }
        guard let json = JSONValue(objectIn: answer.body) else {
            throw OpenIDConnectError(.invalidAnswer, "\(name) is not a JSON object", status: answer.status.code)
        }
        return json
    }

    /// Posts a form and returns the answer, whatever its status.
    func post(_ url: String, form: [(name: String, value: String)]) async throws -> HTTPAnswer {
        try await send(.post, url, body: Array(FormParameters.encode(form).utf8))
    }

    /// The error for a status that means "try later"; nil for any other.
    static func outage(_ status: Int) -> OpenIDConnectError? {
        switch status {
        case 408, 429: OpenIDConnectError(.unavailable, "it is busy (HTTP \(status))", status: status)
        case 500...599:
            OpenIDConnectError(.unavailable, "it failed (HTTP \(status))", status: status, mayHaveBeenProcessed: true)
        default: nil
        }
    }

    private func send(_ method: HTTPRequest.Method, _ url: String, body: [UInt8]) async throws -> HTTPAnswer {
        var fields: HTTPFields = [.accept: "application/json", .userAgent: "credential-vault"]
        if method == .post { fields[.contentType] = "application/x-www-form-urlencoded" }
        let parts = EndpointURL.split(url)
        let request = HTTPRequest(
            method: method, scheme: parts.scheme, authority: parts.authority, path: parts.path, headerFields: fields)
        do {
            return try await transport.send(request, body: body, limits: HTTPLimits())
        } catch let error as HTTPError {
            throw Self.mapped(error)
        } catch {
            let isCancelled = error is CancellationError
            throw OpenIDConnectError(
                isCancelled ? .cancelled : .unavailable, "", mayHaveBeenProcessed: true, underlying: error)
        }
    }

    private static func mapped(_ error: HTTPError) -> OpenIDConnectError {
        switch error.code {
        case .notConnected: OpenIDConnectError(.unavailable, "no connection to \(error.authority)", underlying: error)
        case .answerTooLarge:
            OpenIDConnectError(.invalidAnswer, "it is too large", mayHaveBeenProcessed: true, underlying: error)
        case .forbiddenURL:
            OpenIDConnectError(.configurationInvalid, "\(error.authority) needs https", underlying: error)
        case .cancelled: OpenIDConnectError(.cancelled, "", mayHaveBeenProcessed: true, underlying: error)
        default:
            OpenIDConnectError(
                .unavailable, "the connection to \(error.authority) broke or took too long", mayHaveBeenProcessed: true,
                underlying: error)
        }
    }
}

extension EndpointURL {
    /// Scheme, authority and path with query of an allowed URL.
    static func split(_ url: String) -> (scheme: String, authority: String, path: String) {
        let schemeAndRest = url.split(separator: ":", maxSplits: 1)
        let rest = schemeAndRest.count == 2 ? schemeAndRest[1].drop { $0 == "/" } : ""
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let path = rest[authority.endIndex...]
        return (
            schemeAndRest.first?.lowercased() ?? "", String(authority), path.hasPrefix("/") ? String(path) : "/" + path
        )
    }
}
