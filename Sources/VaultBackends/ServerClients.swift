internal import OpenIDConnect
internal import VaultAuth
internal import VaultHTTP
internal import VaultStorage

/// The OAuth clients that are registered at servers, one per server, which later sign-ins use again.
///
/// A server may forget a client, and then shows the person an error instead of sending the browser back. So the record is
/// taken away while the client is in use, and put back when that went well: the next sign-in then registers anew.
struct ServerClients: Sendable {
    let server: Server
    let context: SignInContext

    /// A receiver of the redirect, and a client that may send the browser there.
    func receiverAndClient(for delivery: RedirectDelivery) async throws -> (any RedirectReceiver, LoginClient) {
        try await context.receiverAndClient(for: delivery, known: take) {
            try await server.register(context.settings.clientName, redirectURI: $0)
        }
    }

    /// Remembers a client that the server knows. One with a secret is for this login alone: its secret is sealed with the
    /// account's token, where no other account can read it.
    func keep(_ client: LoginClient, redirectURI: String) async {
        guard client.secret == nil, context.settings.clientID?.isEmpty != false else { return }
        let record = LoginClient.Record(
            clientID: client.id, redirectURI: redirectURI, registeredAt: context.clock.now)
        // Without it the next sign-in registers another client.
        guard let bytes = try? record.encoded() else { return }
        try? await context.store.withRecord(name) { $0 = bytes }
    }

    private var name: String { "server client \(server.connection.endpoint.url)" }

    private func take() async throws -> LoginClient.Record? {
        let record = try await context.store.withRecord(name) { bytes in
            defer { bytes = nil }
            return LoginClient.Record(bytes)
        }
        return context.settings.registersAnew ? nil : record
    }
}
