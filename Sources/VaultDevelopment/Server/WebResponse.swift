internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// The answers of development servers, not cached by default.
extension Response {
    static func plain(
        _ status: HTTPResponse.Status, _ type: String? = nil, _ body: Data = Data()
    ) -> Response {
        var headers: HTTPFields = [.cacheControl: "no-store", .xContentTypeOptions: "nosniff"]
        if let type, !body.isEmpty { headers[.contentType] = type }
        return Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: body)))
    }

    static func json(_ body: Data, status: HTTPResponse.Status = .ok) -> Response {
        plain(status, "application/json", body)
    }

    /// Redirects the browser with a GET.
    static func seeOther(_ location: String) -> Response {
        var answer = plain(.seeOther)
        answer.headers[.location] = location
        return answer
    }

    /// - Parameter formTarget: The allowed target of a form on the page. Browsers apply it to the redirect after the
    ///   post, too.
    static func page(_ status: HTTPResponse.Status, _ body: String, formTarget: String) -> Response {
        var answer = plain(status, "text/html; charset=utf-8", Data(body.utf8))
        answer.headers[.contentSecurityPolicy] =
            "default-src 'none'; style-src '\(Page.styleHash)'; img-src data:; form-action \(formTarget); "
            + "frame-ancestors 'none'; base-uri 'none'"
        answer.headers[.xFrameOptions] = "DENY"
        answer.headers[.referrerPolicy] = "no-referrer"
        return answer
    }
}

extension Request {
    private static let bodyLimit = 64 * 1024

    func hasBody(_ type: String) -> Bool { headers[.contentType]?.lowercased().hasPrefix(type) == true }

    /// - Throws: `HTTPError` with 413 if the body is too long.
    func bodyData() async throws -> Data {
        var request = self
        return Data(try await request.collectBody(upTo: Self.bodyLimit).readableBytesView)
    }

    /// Reads the form in the body; nil if it is missing or malformed.
    func form() async throws -> FormParameters? {
        guard hasBody("application/x-www-form-urlencoded") else { return nil }
        return String(validating: try await bodyData(), as: UTF8.self).flatMap { FormParameters($0) }
    }

    /// The parameters of the query; nil if they are malformed.
    var query: FormParameters? { FormParameters(uri.query ?? "") }
}

extension HTTPField.Name {
    /// The header field for proofs (RFC 9449 section 4).
    static let dpop = optional("DPoP")
    /// The header field for nonces (RFC 9449 section 8.1).
    static let dpopNonce = optional("DPoP-Nonce")
    fileprivate static let xFrameOptions = optional("X-Frame-Options")
    fileprivate static let referrerPolicy = optional("Referrer-Policy")
    private static func optional(_ name: String) -> HTTPField.Name { .init(name) ?? .server }
}
