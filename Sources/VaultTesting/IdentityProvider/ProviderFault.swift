/// A way for the token endpoint to misbehave, to test how a client copes.
public struct ProviderFault: Sendable, Hashable {
    enum Kind: Hashable {
        case status(Int)
        case emptyBadRequest
        case swallowAnswer
        case delay
        case delayAnswer
        case omitRefreshToken
        case scope(String?)
    }

    let kind: Kind

    /// Answers with this HTTP status and an empty body, and processes nothing.
    public static func status(_ code: Int) -> ProviderFault { .init(kind: .status(code)) }
    /// Answers 400 with an empty body and processes nothing, as Glewlwyd does for a dead refresh token.
    public static let emptyBadRequest = ProviderFault(kind: .emptyBadRequest)
    /// Processes the request (a refresh token is rotated), then closes the connection without an answer.
    public static let swallowAnswerAfterProcessing = ProviderFault(kind: .swallowAnswer)
    /// Holds the request back, unprocessed, until ``DevelopmentIdentityProvider/releaseDelayed()``.
    public static let delay = ProviderFault(kind: .delay)
    /// Processes the request, but holds the answer back until ``DevelopmentIdentityProvider/releaseDelayed()``.
    public static let delayAnswer = ProviderFault(kind: .delayAnswer)
    /// Answers without a refresh token. A refresh leaves the presented one valid.
    public static let omitRefreshToken = ProviderFault(kind: .omitRefreshToken)
    /// Answers with this value of `scope`, whatever was granted; `nil` leaves the field out.
    public static func scope(_ scope: String?) -> ProviderFault { .init(kind: .scope(scope)) }
}
