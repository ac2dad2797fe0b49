package import HTTPTypes
package import VaultBase
package import VaultHTTP

/// An HTTP connection to a provider or another server. It turns the transport's errors into this library's errors.
package struct ProviderConnection: Sendable {
    package typealias Form = [(name: String, value: String)]

    package let transport: any HTTPTransport
    /// The origin on the local network that may be called by plain `http`, because the person allowed it; nil for none.
    let insecureOrigin: String?

    package init(transport: any HTTPTransport, insecureOrigin: String? = nil) {
        self.transport = transport
        self.insecureOrigin = insecureOrigin
    }

    /// Posts a form and returns the answer with any status.
    package func post(_ url: String, form: Form, fields: HTTPFields = [:]) async throws -> HTTPAnswer {
        var fields = fields
        fields[.contentType] = "application/x-www-form-urlencoded"
        return try await send(.post, url, fields: fields, body: Array(FormParameters.encode(form).utf8))
    }

    /// Posts JSON and returns the answer with any status.
    package func post(_ url: String, json: JSONValue, fields: HTTPFields = [:]) async throws -> HTTPAnswer {
        var fields = fields
        fields[.contentType] = "application/json"
        return try await send(.post, url, fields: fields, body: json.encoded())
    }

    /// Sends a request and returns the answer with any status.
    ///
    /// - Throws: ``OpenIDConnectError``; `configurationInvalid` for a URL that is not allowed.
    package func send(
        _ method: HTTPRequest.Method, _ url: String, fields: HTTPFields = [:], body: [UInt8] = [],
        within limit: Duration = .seconds(30)
    ) async throws -> HTTPAnswer {
        guard EndpointURL.isAllowed(url, insecureOrigin: insecureOrigin) else {
            throw OpenIDConnectError(.configurationInvalid, "the URL of the request is not https")
        }
        var fields = fields
        if fields[.accept] == nil { fields[.accept] = "application/json" }
        fields[.userAgent] = "credential-vault"
        let parts = EndpointURL.split(url)
        let request = HTTPRequest(
            method: method, scheme: parts.scheme, authority: parts.authority, path: parts.path, headerFields: fields)
        var limits = HTTPLimits()
        limits.exchange = limit
        limits.allowsInsecureHTTP = insecureOrigin != nil && EndpointURL.origin(of: url) == insecureOrigin
        do {
            return try await transport.send(request, body: body, limits: limits)
        } catch let error as HTTPError {
            throw Self.mapped(error)
        } catch {
            let isCancelled = error is CancellationError
            throw OpenIDConnectError(
                isCancelled ? .cancelled : .unavailable, "", mayHaveBeenProcessed: true, underlying: error)
        }
    }

    /// The names of the secrets in a form.
    private static let secretNames: Set = [
        "client_secret", "code", "code_verifier", "device_code", "password", "refresh_token", "token",
    ]

    /// Returns the error for a refusal, with the provider's own words if there are any.
    ///
    /// - Parameter form: the sent form. Some providers repeat a refused token, so words with a secret in them are left
    ///   out.
    package static func refusal(
        _ answer: HTTPAnswer, as code: OpenIDConnectError.Code = .refused, sent form: Form = []
    ) -> OpenIDConnectError {
        let json = JSONValue(objectIn: answer.body)
        // A shorter value is no secret, but may be a part of a usual word. Only passwords can be that short.
        let secrets = form.filter {
            secretNames.contains($0.name) && $0.value.count >= ($0.name == "password" ? 1 : 8)
        }.map(\.value)
        func words(_ name: String) -> String? {
            guard let text = json?[name]?.string, !secrets.contains(where: text.contains) else { return nil }
            return text
        }
        return OpenIDConnectError(
            code, "HTTP \(answer.status.code)", status: answer.status.code, providerError: words("error"),
            providerDescription: words("error_description")
        ).ofServer(isOfServer(answer))
    }

    /// Whether the server sent a refusal itself: the answer asks for a bearer token (RFC 6750 section 3), or it is JSON
    /// with a text about the error and asks for no login. A proxy in front of the server answers with a page, or with
    /// nothing, or asks for a login of its own. A gateway that answers like the server counts as the server.
    package static func isOfServer(_ answer: HTTPAnswer) -> Bool {
        if Challenge.asksForBearer(answer) { return true }
        guard answer.headerFields[.wwwAuthenticate] == nil, let json = JSONValue(objectIn: answer.body) else {
            return false
        }
        let texts = [json["error"], json["error"]?["message"], json["message"], json["error_description"]]
        return texts.contains { $0?.string?.isEmpty == false }
    }

    /// Returns the error for a status that means "try later"; nil for any other status.
    package static func outage(_ status: Int) -> OpenIDConnectError? {
        switch status {
        case 408: OpenIDConnectError(.unavailable, "it is busy (HTTP 408)", status: status)
        case 429: OpenIDConnectError(.unavailable, "HTTP 429", status: status)
        case 500...599:
            OpenIDConnectError(.unavailable, "it failed (HTTP \(status))", status: status, mayHaveBeenProcessed: true)
        default: nil
        }
    }

    private static func mapped(_ error: HTTPError) -> OpenIDConnectError {
        switch error.code {
        case .notConnected: OpenIDConnectError(.unavailable, "no connection to \(error.authority)", underlying: error)
        case .untrustedCertificate:
            OpenIDConnectError(
                .unavailable,
                "the certificate of \(error.authority) is not trusted. For a private authority, set ca-file",
                underlying: error)
        case .answerTooLarge:
            OpenIDConnectError(.invalidAnswer, "it is too large", mayHaveBeenProcessed: true, underlying: error)
        case .forbiddenURL:
            OpenIDConnectError(.configurationInvalid, "\(error.authority) needs https", underlying: error)
        case .invalidAnswer:
            OpenIDConnectError(
                .interrupted, "the connection to \(error.authority) broke: it did not answer in HTTP",
                mayHaveBeenProcessed: true, underlying: error)
        case .certificateFileInvalid: OpenIDConnectError(.configurationInvalid, "", underlying: error)
        case .cancelled: OpenIDConnectError(.cancelled, "", mayHaveBeenProcessed: true, underlying: error)
        case .timedOut: OpenIDConnectError(.timedOut, error.authority, mayHaveBeenProcessed: true, underlying: error)
        default:
            OpenIDConnectError(
                .interrupted, "the connection to \(error.authority) broke", mayHaveBeenProcessed: true,
                underlying: error)
        }
    }
}
