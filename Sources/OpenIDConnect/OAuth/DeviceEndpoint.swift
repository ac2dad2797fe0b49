internal import HTTPTypes
internal import VaultBase
internal import VaultHTTP

extension OAuthClient {
    /// Starts a sign-in that the person ends on another device (RFC 8628 section 3.1).
    ///
    /// - Parameters:
    ///   - parameters: the scopes, and other parameters for the request.
    ///   - dpopKey: the key to bind the tokens to; nil for none.
    package func authorizeDevice(
        _ parameters: ProviderConnection.Form, at server: any AuthorizationServer, dpopKey: DPoPKey?
    ) async throws -> DeviceAuthorization {
        guard let url = server.deviceAuthorizationEndpoint else {
            throw OpenIDConnectError(.unsupported, "signing in on another device")
        }
        let (answer, sent): (HTTPAnswer, ProviderConnection.Form)
        do {
            (answer, sent) = try await post(parameters, to: url, of: server)
        } catch let error as OpenIDConnectError {
            throw error.processed(false)  // Nobody has signed in yet, so no code is used up.
        }
        guard (200..<300).contains(answer.status.code) else {
            if let outage = ProviderConnection.outage(answer.status.code) { throw outage.processed(false) }
            throw ProviderConnection.refusal(answer, sent: sent)
        }
        guard let json = JSONValue(objectIn: answer.body) else {
            throw OpenIDConnectError(.invalidAnswer, "the device authorization is not JSON", status: answer.status.code)
        }
        return try DeviceAuthorization(
            answer: json, server: server, dpopKey: dpopKey, insecureOrigin: connection.insecureOrigin)
    }
}
