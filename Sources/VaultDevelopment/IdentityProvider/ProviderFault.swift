/// A misbehaviour of an endpoint, for tests of clients.
public struct ProviderFault: Sendable, Hashable {
    enum Kind: Hashable {
        case answer(status: Int, type: String?, body: String, retryAfter: Int?)
        case swallowAnswer
        case delay
        case delayAnswer
        case omitRefreshToken
        case scope(String?)
    }

    let kind: Kind

    /// Answers with this HTTP status and an empty body, and processes nothing.
    ///
    /// - Parameters:
    ///   - code: The HTTP status.
    ///   - retryAfter: The header `Retry-After`, in seconds.
    public static func status(_ code: Int, retryAfter: Int? = nil) -> ProviderFault {
        .init(kind: .answer(status: code, type: nil, body: "", retryAfter: retryAfter))
    }
    /// Answers 400 with an empty body and processes nothing, like Glewlwyd for a dead refresh token.
    public static let emptyBadRequest = status(400)
    /// Answers with this error of the protocol, such as `slow_down`, and processes nothing.
    public static func error(_ code: String, status: Int = 400) -> ProviderFault {
        let body = String(decoding: errorBody(OAuthError(code, "A test has asked for this error.")), as: UTF8.self)
        return .init(kind: .answer(status: status, type: "application/json", body: body, retryAfter: nil))
    }
    /// Answers every request with this body, and processes nothing.
    public static func answer(status: Int = 200, type: String = "application/json", body: String) -> ProviderFault {
        .init(kind: .answer(status: status, type: type, body: body, retryAfter: nil))
    }
    /// Processes the request (a refresh token is rotated), then closes the connection without an answer.
    public static let swallowAnswerAfterProcessing = ProviderFault(kind: .swallowAnswer)
    /// Holds the request back, unprocessed, until ``DevelopmentIdentityProvider/releaseDelayed()``.
    public static let delay = ProviderFault(kind: .delay)
    /// Processes the request, but holds the answer back until ``DevelopmentIdentityProvider/releaseDelayed()``.
    public static let delayAnswer = ProviderFault(kind: .delayAnswer)
    /// Answers without a refresh token, only at the token endpoint. After a refresh, the presented token stays valid.
    public static let omitRefreshToken = ProviderFault(kind: .omitRefreshToken)
    /// Answers with this value of `scope`, only at the token endpoint. `nil` leaves the field out.
    public static func scope(_ scope: String?) -> ProviderFault { .init(kind: .scope(scope)) }
}
