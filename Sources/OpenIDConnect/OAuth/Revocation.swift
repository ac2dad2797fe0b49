internal import HTTPTypes
internal import VaultBase
internal import VaultHTTP

extension OAuthClient {
    /// Revokes a token (RFC 7009). If the server does not let this client do that, deletes the token in the server's
    /// own way.
    ///
    /// - Parameters:
    ///   - hint: `refresh_token` or `access_token`.
    ///   - bearer: an access token, for a server that wants to know who asks.
    package func revoke(
        _ token: String, hint: String, at server: any AuthorizationServer, bearer: String? = nil
    ) async throws {
        do {
            guard let url = server.revocationEndpoint else {
                throw OpenIDConnectError(.unsupported, "revoking tokens")
            }
            let (answer, sent) = try await post(
                [("token", token), ("token_type_hint", hint)], to: url, of: server,
                fields: bearer.map { [.authorization: "Bearer " + $0] } ?? [:])
            if (200..<300).contains(answer.status.code) { return }
            // 501 means "not implemented", so another try would not help.
            if answer.status.code == 501 {
                throw ProviderConnection.refusal(answer, as: .unsupported, sent: sent)
            }
            if let outage = ProviderConnection.outage(answer.status.code) { throw outage }
            let isUnsupported = JSONValue(objectIn: answer.body)?["error"]?.string == "unsupported_token_type"
            throw ProviderConnection.refusal(answer, as: isUnsupported ? .unsupported : .refused, sent: sent)
        } catch let error as OpenIDConnectError where error.code == .refused || error.code == .unsupported {
            guard hint == "refresh_token", let form = server.variant?.deletion(of: token),
                try await isDeleted(by: form, at: server)
            else { throw error }
        }
    }

    /// Returns false if the server does not let this client delete tokens.
    private func isDeleted(by form: ProviderConnection.Form, at server: any AuthorizationServer) async throws -> Bool {
        let answer = try await post(form, to: server.tokenEndpoint, of: server).answer
        if let outage = ProviderConnection.outage(answer.status.code) { throw outage }
        return (200..<300).contains(answer.status.code) && JSONValue(objectIn: answer.body)?["error"] == nil
    }
}
