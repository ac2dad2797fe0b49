internal import HTTPTypes
package import VaultHTTP

/// One client of an OAuth 2.0 server. It knows no ID tokens and no discovery: OpenID Connect stands on it, and so do
/// servers that have only OAuth.
///
/// Every method throws ``OpenIDConnectError`` only.
package struct OAuthClient: Sendable {
    let exchange: DPoPExchange
    let authentication: ClientAuthentication
    let clock: any WallClock

    var connection: ProviderConnection { exchange.connection }

    /// - Parameters:
    ///   - secret: the client's secret; nil for a public client.
    ///   - method: how the client was registered to use its secret; nil to go by what the server announces.
    package init(
        id: String, secret: String? = nil, method: String? = nil, exchange: DPoPExchange, clock: any WallClock
    ) {
        self.exchange = exchange
        self.clock = clock
        authentication = ClientAuthentication(clientID: id, secret: secret, method: method)
    }

    /// Posts a form that says who the client is.
    ///
    /// - Parameter fields: header fields to send besides.
    /// - Returns: the answer, whatever its status, and what was sent, for ``ProviderConnection/refusal(_:as:sent:)``.
    func post(
        _ form: ProviderConnection.Form, to url: String, of server: any AuthorizationServer,
        fields others: HTTPFields = [:]
    ) async throws -> (answer: HTTPAnswer, sent: ProviderConnection.Form) {
        let (form, fields) = try authentication.applied(to: form, at: server)
        var all = others
        for field in fields { all[field.name] = field.value }
        let answer = try await connection.post(url, form: form, fields: all)
        return (answer, authentication.revealing(form, fields))
    }
}
