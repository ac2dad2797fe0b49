internal import CredentialVault

/// Asks a provider whether it knows a client, without a sign-in.
struct ClientCheck {
    let provider: ProviderMetadata
    let id: String
    let transport: any HTTPTransport

    /// Sends a refresh token that nobody has. A provider looks at the client first (RFC 6749 section 5.2): it answers
    /// `invalid_grant` for a client that it knows.
    ///
    /// - Parameter secretFile: the file with the client's secret; nil for a public client.
    /// - Returns: false if the provider does not know the client or its secret. True also if its answer does not say.
    /// - Throws: `VaultError` with code `configurationInvalid` if the client may not use refresh tokens, or if the file
    ///   cannot be used. `OpenIDConnectError`: the provider does not answer.
    func run(_ secretFile: String?) async throws -> Bool {
        let secret = try secretFile.flatMap { try ClientSecretFile(path: $0).read().bytes.utf8String() }
        let client = OpenIDProvider(
            issuer: provider.issuer, clientID: id, clientSecret: secret, usesDPoP: false, transport: transport)
        do {
            _ = try await Spinner.during("Asking the provider about the client") {
                try await client.refresh("none", subject: "")
            }
            return true
        } catch let error as OpenIDConnectError {
            switch error.code {
            case .unavailable, .timedOut, .interrupted, .cancelled: throw error
            default: break
            }
            guard error.providerError != "unauthorized_client" else {
                throw VaultError(
                    .configurationInvalid,
                    "The client \(Printable.text(id)) may not use refresh tokens. Allow them for the client at the provider.",
                    underlying: error)
            }
            return error.providerError != "invalid_client"
        }
    }
}
