package import HTTPTypes
package import VaultHTTP
package import VaultJSON

/// Speaks HTTP with a provider or another server and turns what the transport throws into this library's errors.
package struct ProviderConnection: Sendable {
    package typealias Form = [(name: String, value: String)]

    package let transport: any HTTPTransport

    package init(transport: any HTTPTransport) {
        self.transport = transport
    }

    /// Posts a form and returns the answer, whatever its status.
    package func post(_ url: String, form: Form, fields: HTTPFields = [:]) async throws -> HTTPAnswer {
        var fields = fields
        fields[.contentType] = "application/x-www-form-urlencoded"
        return try await send(.post, url, fields: fields, body: Array(FormParameters.encode(form).utf8))
    }

    /// Posts JSON and returns the answer, whatever its status.
    package func post(_ url: String, json: JSONValue, fields: HTTPFields = [:]) async throws -> HTTPAnswer {
        var fields = fields
        fields[.contentType] = "application/json"
        return try await send(.post, url, fields: fields, body: json.encoded())
    }

    /// Sends a request and returns the answer, whatever its status.
    ///
    /// - Throws: ``OpenIDConnectError``; `configurationInvalid` for a URL that may not be called.
    package func send(
        _ method: HTTPRequest.Method, _ url: String, fields: HTTPFields = [:], body: [UInt8] = [],
        within limit: Duration = .seconds(30)
    ) async throws -> HTTPAnswer {
        guard EndpointURL.isAllowed(url) else {
            throw OpenIDConnectError(.configurationInvalid, "a URL to be called is not https")
        }
        var fields = fields
        if fields[.accept] == nil { fields[.accept] = "application/json" }
        fields[.userAgent] = "credential-vault"
        let parts = EndpointURL.split(url)
        let request = HTTPRequest(
            method: method, scheme: parts.scheme, authority: parts.authority, path: parts.path, headerFields: fields)
        var limits = HTTPLimits()
        limits.exchange = limit
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

    /// What in a form is a secret.
    private static let secretNames: Set = [
        "client_secret", "code", "code_verifier", "device_code", "password", "refresh_token", "token",
    ]

    /// The error for an answer that says no: what it means, and the provider's own words, which may be missing.
    ///
    /// - Parameter form: what was sent. Some providers repeat the token that they do not like: such words are left out.
    package static func refusal(
        _ answer: HTTPAnswer, as code: OpenIDConnectError.Code = .refused, sent form: Form = []
    ) -> OpenIDConnectError {
        let json = JSONValue(objectIn: answer.body)
        // What is shorter is no secret, but perhaps part of a word. Only of passwords that is not said.
        let secrets = form.filter {
            secretNames.contains($0.name) && $0.value.count >= ($0.name == "password" ? 1 : 8)
        }.map(\.value)
        func words(_ name: String) -> String? {
            guard let text = json?[name]?.string, !secrets.contains(where: text.contains) else { return nil }
            return text
        }
        return OpenIDConnectError(
            code, "HTTP \(answer.status.code)", status: answer.status.code, providerError: words("error"),
            providerDescription: words("error_description"))
    }

    /// The error for a status that means "try later"; nil for any other.
    package static func outage(_ status: Int) -> OpenIDConnectError? {
        switch status {
        case 408, 429: OpenIDConnectError(.unavailable, "it is busy (HTTP \(status))", status: status)
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
                "the certificate of \(error.authority) is not trusted. If a private authority signed it, name its file: ca-file",
                underlying: error)
        case .answerTooLarge:
            OpenIDConnectError(.invalidAnswer, "it is too large", mayHaveBeenProcessed: true, underlying: error)
        case .forbiddenURL:
            OpenIDConnectError(.configurationInvalid, "\(error.authority) needs https", underlying: error)
        case .invalidAnswer:
            OpenIDConnectError(
                .interrupted, "the connection to \(error.authority) broke, as it did not answer in HTTP",
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
