internal import HTTPTypes
package import VaultBase
internal import VaultHTTP

/// A client of an OAuth 2.0 server, without ID tokens and discovery. OpenID Connect and servers with OAuth alone both
/// use it.
///
/// Every method throws ``OpenIDConnectError`` only.
package struct OAuthClient: Sendable {
    let exchange: DPoPExchange
    let authentication: ClientAuthentication
    let clock: any WallClock

    var connection: ProviderConnection { exchange.connection }

    /// - Parameters:
    ///   - secret: the client's secret; nil for a public client.
    ///   - method: the registered method of client authentication; nil to follow the server's announcement.
    package init(
        id: String, secret: String? = nil, method: String? = nil, exchange: DPoPExchange, clock: any WallClock
    ) {
        self.exchange = exchange
        self.clock = clock
        authentication = ClientAuthentication(clientID: id, secret: secret, method: method)
    }

    /// Posts a form together with the client's authentication.
    ///
    /// - Returns: the answer with any status, and the sent form for ``ProviderConnection/refusal(_:as:sent:)``.
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
