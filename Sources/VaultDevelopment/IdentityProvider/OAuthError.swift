/// An error answer of the protocol (RFC 6749 sections 4.1.2.1 and 5.2).
struct OAuthError: Error {
    var code: String
    /// The text for the developer, without secrets.
    var detail: String
    var status = 400
    /// The outcome for the request log, which may tell more than the answer.
    var outcome: ProviderRequest.Outcome
    /// The header `WWW-Authenticate`.
    var challenge: String?

    init(_ code: String, _ detail: String, status: Int = 400, outcome: ProviderRequest.Outcome? = nil) {
        self.code = code
        self.detail = detail
        self.status = status
        self.outcome = outcome ?? .init(rawValue: code)
    }

    static func invalidRequest(_ detail: String) -> OAuthError { .init("invalid_request", detail) }

    static func invalidGrant(_ detail: String, outcome: ProviderRequest.Outcome = .invalidGrant) -> OAuthError {
        .init("invalid_grant", detail, outcome: outcome)
    }

    /// - Parameter asked: Whether the client used HTTP authentication. Then the answer demands it.
    static func invalidClient(asked: Bool = false) -> OAuthError {
        var error = OAuthError("invalid_client", "This client is not known here, or its secret is wrong.", status: 401)
        if asked { error.challenge = #"Basic realm="clients""# }
        return error
    }

    static let wrongKey = invalidGrant(
        "It is bound to another key than the key of the DPoP proof.", outcome: .wrongDPoPKey)

    static let unauthorizedClient = OAuthError(
        "unauthorized_client", "The client is not registered for this grant type.")
}
