internal import VaultAuth
internal import VaultBase
internal import VaultStorage

/// The registered OAuth clients, one per server, for later sign-ins at servers that keep clients.
///
/// A server may forget a client. It then shows the person an error, and does not send the browser back. So each sign-in
/// removes the record, and puts it back after success. After a failure, the next sign-in registers another client. At a
/// server that keeps no clients, each sign-in registers another client.
struct ServerClients: Sendable {
    let server: Server
    let context: SignInContext

    /// Returns a receiver of the redirect, and a client that may send the browser there.
    func receiverAndClient(for delivery: RedirectDelivery) async throws -> (any RedirectReceiver, LoginClient) {
        try await context.receiverAndClient(for: delivery, known: take) {
            try await server.register(context.settings.clientName, redirectURI: $0)
        }
    }

    /// Remembers a client that the server knows. A client with a secret is for this login alone, as its secret is
    /// sealed with the account's token.
    func keep(_ client: LoginClient, redirectURI: String) async {
        guard server.layout.keepsClient, client.secret == nil, context.settings.clientID?.isEmpty != false else {
            return
        }
        let record = LoginClient.Record(
            clientID: client.id, redirectURI: redirectURI, registeredAt: context.clock.now)
        // Without the record, the next sign-in registers another client.
        guard let bytes = try? record.encoded() else { return }
        try? await context.store.withRecord(name) { $0 = bytes }
    }

    private var name: String { "server client \(server.connection.endpoint.url)" }

    private func take() async throws -> LoginClient.Record? {
        guard server.layout.keepsClient else { return nil }
        let record = try await context.store.withRecord(name) { bytes in
            defer { bytes = nil }
            return LoginClient.Record(bytes)
        }
        return context.settings.registersAnew ? nil : record
    }
}
