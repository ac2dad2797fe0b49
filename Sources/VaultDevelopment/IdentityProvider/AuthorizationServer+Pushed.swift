internal import FoundationEssentials

/// The authorization requests that clients push before the browser opens (RFC 9126).
extension AuthorizationServer {
    /// A pushed request that no browser has used yet.
    struct PushedRequest {
        var authorization: PendingAuthorization
        var expiresAt: Date
    }

    private struct PushedAnswer: Encodable {
        var requestUri: String
        var expiresIn: Int
    }

    private static let prefix = "urn:ietf:params:oauth:request_uri:"
    private static let lifetime = 60

    /// Accepts a pushed authorization request from the client (section 2).
    /// - Returns: The JSON of the answer.
    func push(_ request: ClientRequest) throws -> Data {
        var entry = ProviderRequest(.pushedAuthorization, .ok)
        do {
            let client = try authenticate(request, entry: &entry)
            entry.parameters = request.form?.askedFor ?? [:]
            guard options.pushedAuthorization != .refused else {
                throw OAuthError("unauthorized_client", "Pushed authorization requests are refused here.")
            }
            guard let form = request.form, form["request_uri"] == nil else {
                throw OAuthError.invalidRequest("A pushed request must not have a request_uri.")
            }
            guard let redirectURI = form["redirect_uri"], client.allows(redirectURI: redirectURI) else {
                throw OAuthError.invalidRequest("The redirect URI is missing, or is not allowed for this client.")
            }
            let thumbprint = try checkProof(of: request, at: "/par", isRequired: false, entry: &entry)
            var authorization = try pendingAuthorization(form, client: client, redirectURI: redirectURI)
            guard authorization.keyThumbprint == nil || thumbprint == nil || authorization.keyThumbprint == thumbprint
            else { throw OAuthError.invalidProof("dpop_jkt is another key.") }
            authorization.keyThumbprint = thumbprint ?? authorization.keyThumbprint
            forgetExpired()
            let uri = Self.prefix + randomIdentifier()
            pushed[uri] = PushedRequest(
                authorization: authorization, expiresAt: options.now().addingTimeInterval(Double(Self.lifetime)))
            log(entry)
            return try protocolJSON(PushedAnswer(requestUri: uri, expiresIn: Self.lifetime))
        } catch let error as OAuthError {
            entry.outcome = error.outcome
            log(entry)
            throw error
        }
    }

    /// Returns the pushed request of a browser, once (section 4). Other parameters of the URL are ignored.
    func takePushed(_ uri: String, client: Client) -> PendingAuthorization? {
        guard let request = pushed[uri], request.expiresAt > options.now(),
            request.authorization.client.identifier == client.identifier
        else { return nil }
        pushed[uri] = nil
        return request.authorization
    }
}
