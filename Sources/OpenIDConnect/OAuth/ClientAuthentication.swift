internal import FoundationEssentials
internal import HTTPTypes

/// The client's identifier, secret and method of authentication (RFC 6749 section 2.3). It does not print the secret.
struct ClientAuthentication: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let clientID: String
    /// The client's secret; nil for a public client.
    let secret: String?
    /// The method that the client was registered with; nil if unknown.
    let method: String?

    /// Whether the place of the secret depends on the server's announcement.
    var asksForMethod: Bool { secret?.isEmpty == false && method == nil }

    /// Returns the form with the client's name in it, and the header fields for the request.
    func applied(
        to form: ProviderConnection.Form, at server: any AuthorizationServer
    ) throws -> (form: ProviderConnection.Form, fields: HTTPFields) {
        // Discovery allows an empty client ID, as a client has none before it registers itself.
        guard !clientID.isEmpty else { throw OpenIDConnectError(.configurationInvalid, "the client ID is empty") }
        guard let secret, !secret.isEmpty, method != "none" else { return (form + [("client_id", clientID)], [:]) }
        if usesBasic(at: server) {
            // Both are encoded like a form, so a colon in one of them does not end the client ID (RFC 6749 section
            // 2.3.1).
            let pair = FormParameters.escape(clientID) + ":" + FormParameters.escape(secret)
            return (form, [.authorization: "Basic " + Data(pair.utf8).base64EncodedString()])
        }
        return (form + [("client_id", clientID), ("client_secret", secret)], [:])
    }

    /// Returns the sent form and the secret in every shape that an answer may repeat.
    func revealing(_ form: ProviderConnection.Form, _ fields: HTTPFields) -> ProviderConnection.Form {
        let credentials = fields[.authorization]?.split(separator: " ").last.map(String.init)
        return form
            + [secret, secret.map(FormParameters.escape), credentials].compactMap(\.self)
            .map { ("client_secret", $0) }
    }

    /// The registration decides, then the server's announcement, then the standard's default.
    private func usesBasic(at server: any AuthorizationServer) -> Bool {
        if let method { return method == "client_secret_basic" }
        return server.tokenEndpointAuthMethodsSupported?.contains("client_secret_basic") ?? true
    }

    var description: String { "ClientAuthentication(\(clientID))" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: ["clientID": clientID]) }
}
