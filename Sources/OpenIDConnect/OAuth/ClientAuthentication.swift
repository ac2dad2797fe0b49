internal import FoundationEssentials
internal import HTTPTypes

/// Who the client is, and how it says so at the server's endpoints (RFC 6749 section 2.3). It does not print its secret.
struct ClientAuthentication: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let clientID: String
    /// nil for a public client.
    let secret: String?
    /// The method that the client was registered with; nil when it is not known.
    let method: String?

    /// Whether it takes the server's announcement to know where the secret goes.
    var asksForMethod: Bool { secret?.isEmpty == false && method == nil }

    /// The form with what names the client, and the header fields that go with it.
    func applied(
        to form: ProviderConnection.Form, at server: any AuthorizationServer
    ) throws -> (form: ProviderConnection.Form, fields: HTTPFields) {
        // Discovery allows an empty one, as a client that registers itself has none yet.
        guard !clientID.isEmpty else { throw OpenIDConnectError(.configurationInvalid, "the client ID is empty") }
        guard let secret, !secret.isEmpty, method != "none" else { return (form + [("client_id", clientID)], [:]) }
        if usesBasic(at: server) {
            // Both encoded like a form, so that a colon in one is none between them (RFC 6749 section 2.3.1).
            let pair = FormParameters.escape(clientID) + ":" + FormParameters.escape(secret)
            return (form, [.authorization: "Basic " + Data(pair.utf8).base64EncodedString()])
        }
        return (form + [("client_id", clientID), ("client_secret", secret)], [:])
    }

    /// A form that was sent, with the secret in every shape in which an answer may repeat it.
    func revealing(_ form: ProviderConnection.Form, _ fields: HTTPFields) -> ProviderConnection.Form {
        let credentials = fields[.authorization]?.split(separator: " ").last.map(String.init)
        return form
            + [secret, secret.map(FormParameters.escape), credentials].compactMap(\.self)
            .map { ("client_secret", $0) }
    }

    /// What counts is the registration, then what the server announces, then the standard's default.
    private func usesBasic(at server: any AuthorizationServer) -> Bool {
        if let method { return method == "client_secret_basic" }
        return server.tokenEndpointAuthMethodsSupported?.contains("client_secret_basic") ?? true
    }

    var description: String { "ClientAuthentication(\(clientID))" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: ["clientID": clientID]) }
}
