internal import FoundationEssentials
internal import HTTPTypes
internal import VaultBase
internal import VaultHTTP

extension OAuthClient {
    /// Pushes a request to the server before the browser opens, if the server supports that (RFC 9126).
    ///
    /// - Returns: the pushed request. The same request as before if the server does not support that, or if it refuses
    ///   this request and does not require a pushed one.
    func pushed(_ request: AuthorizationRequest) async throws -> AuthorizationRequest {
        let server = request.server
        guard let url = server.pushedAuthorizationRequestEndpoint else {
            if server.requirePushedAuthorizationRequests {
                throw OpenIDConnectError(.invalidAnswer, "the provider's metadata has no address for pushed requests")
            }
            return request
        }
        let (sentAt, clientID) = (clock.now, authentication.clientID)
        do {
            // The client authenticates as at the token endpoint (section 2). The request always has a `client_id`, as
            // in the browser (section 2.1).
            let others = request.parameters.filter { $0.name != "client_id" }
            let (applied, fields) = try authentication.applied(to: others, at: server)
            let form = applied.contains { $0.name == "client_id" } ? applied : [("client_id", clientID)] + applied
            let answer = try await connection.post(url, form: form, fields: fields)
            let (requestURI, lifetime) = try Self.requestURI(in: answer, sent: authentication.revealing(form, fields))
            return request.pushed(
                as: requestURI, clientID: clientID, expiresAt: lifetime.map { sentAt.addingTimeInterval($0) })
        } catch let error as OpenIDConnectError where !server.requirePushedAuthorizationRequests {
            // If the provider answered and the person was not denied, the plain request may still work in the browser.
            guard error.status != nil, error.code != .denied else { throw error.processed(false) }
            return request
        } catch let error as OpenIDConnectError {
            throw error.processed(false)  // Nobody has signed in yet, so no code is used up.
        }
    }

    private static func requestURI(
        in answer: HTTPAnswer, sent form: ProviderConnection.Form
    ) throws -> (uri: String, lifetime: TimeInterval?) {
        let status = answer.status.code
        // The RFC says 201, but some servers answer 200.
        guard (200..<300).contains(status) else {
            if let outage = ProviderConnection.outage(status) { throw outage }
            let isDenied = JSONValue(objectIn: answer.body)?["error"]?.string == "access_denied"
            throw ProviderConnection.refusal(answer, as: isDenied ? .denied : .refused, sent: form)
        }
        guard let json = JSONValue(objectIn: answer.body), let uri = json["request_uri"]?.string,
            (1...1024).contains(uri.utf8.count), uri.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw OpenIDConnectError(.invalidAnswer, "the answer has no request_uri", status: status) }
        return (uri, Lifetime.seconds(json["expires_in"]).flatMap { $0 > 0 ? min($0, 86_400) : nil })
    }
}
