internal import OpenIDConnect
public import VaultAuth
internal import VaultHTTP
public import VaultStorage

/// A sign-in at a server that announces its abilities: with OAuth in the browser, or with user name and password for an
/// API token.
///
/// The issuer of the settings is the server's address. The person is asked for the password if the server has no OAuth,
/// or if OAuth fails for a technical reason. The person is not asked after a refusal, if the redirect may be forged, or
/// if the server takes no passwords. Use ``APITokenSignIn`` then.
public struct ServerSignIn: SignIn {
    /// The allowed kinds of token. New choices may be added.
    public struct Choice: Hashable, Sendable {
        let name: String
        /// OAuth if it works, else an API token.
        public static let automatic = Choice(name: "automatic")
        /// OAuth, or an error.
        public static let oauth = Choice(name: "oauth")
        /// An API token.
        public static let apiToken = Choice(name: "apiToken")
    }

    let userAgent: any UserAgent
    let delivery: RedirectDelivery
    let prompt: (any CredentialPrompt)?
    let choice: Choice

    /// - Parameters:
    ///   - userAgent: shows the login to the person.
    ///   - delivery: how the redirect comes back.
    ///   - prompt: asks for user name and password; nil: no API tokens.
    ///   - choice: the allowed kinds of token.
    public init(
        using userAgent: any UserAgent, redirect delivery: RedirectDelivery = .automatic,
        asking prompt: (any CredentialPrompt)? = nil, choosing choice: Choice = .automatic
    ) {
        self.userAgent = userAgent
        self.delivery = delivery
        self.prompt = prompt
        self.choice = choice
    }

    /// Signs in with OAuth, or with user name and password for an API token. `AuthProtocol.signIn(_:)` calls it, and
    /// gives each error below as a `VaultError`.
    ///
    /// - Returns: the login. It is not stored yet.
    /// - Throws: `OpenIDConnectError`: `denied`: the person said no. `stateMismatch`, `callbackInvalid`: start again.
    ///   `unsupported`: the server has no OAuth, and only OAuth was allowed. `unavailable`, `timedOut`, `interrupted`:
    ///   try again later. Other codes: see `OpenIDConnectError`. `RedirectListenerError` with code `timedOut`: start
    ///   again. `VaultError`: `cancelled`: the browser did not come back in time, start again. `passwordUnusable`,
    ///   `wrongSecret`: ask the person again. `tooManyAttempts`: wait for `VaultError.retryAfter`.
    ///   `configurationInvalid` when an address, the layout or the browser cannot be used, or when nobody can be asked
    ///   for the password. Any code with the detail `apiTokenFromPage`: let the person make a token on the server's
    ///   pages, and use ``APITokenSignIn``. The detail `clientPageMissing`: set `client_uri` in
    ///   ``BackendLayout/Server/clientDetails``. `storeCorrupt`: the stored layout is damaged, register again. Errors
    ///   of the user agent and of the prompt.
    public func run(in context: SignInContext) async throws -> SignInResult {
        let server = try context.server()
        let information = try await server.information()
        let isSilent = information == nil && !server.layout.info.isEmpty
        if choice == .apiToken { return try await apiToken(server, isSilent ? .noInformation : .chosen, context) }
        guard information?.hasOAuth == true else {
            if choice == .oauth { throw OpenIDConnectError(.unsupported, "OAuth") }
            return try await apiToken(server, isSilent ? .noInformation : .noOAuth, context)
        }
        do {
            return try await oauth(server, context)
        } catch {
            guard choice == .automatic, Self.isTechnical(error) else { throw error }
            guard let takesPasswords = try? await server.takesPasswords() else { throw error }
            let failure =
                VaultError.converting(error) as? VaultError
                ?? VaultError(.configurationInvalid, "\(error)", underlying: error)
            guard takesPasswords else { throw Self.needsToken(after: failure) }
            guard prompt != nil else { throw error }
            return try await askedAPIToken(server, .oauthFailed, context, after: failure)
        }
    }

    private func apiToken(
        _ server: Server, _ reason: CredentialRequest.Reason, _ context: SignInContext
    ) async throws -> SignInResult {
        guard try await server.takesPasswords() else {
            guard reason != .noInformation else {
                throw VaultError(
                    .configurationInvalid,
                    "\(server.connection.endpoint) has neither \(server.layout.info) nor \(server.layout.apiToken). Check the address of the server.",
                    detail: .addressWrong)
            }
            throw Self.needsToken()
        }
        return try await askedAPIToken(server, reason, context)
    }

    /// The error if the person can only make an API token on the server's own pages.
    private static func needsToken(after failure: VaultError? = nil) -> VaultError {
        let start = failure.map { "Signing in with OAuth did not work: \($0.description) " } ?? ""
        return VaultError(
            failure?.code ?? .configurationInvalid,
            "\(start)The server gives no API token for a password. Make a token on the server's own pages.",
            detail: .apiTokenFromPage, underlying: failure)
    }

    private func askedAPIToken(
        _ server: Server, _ reason: CredentialRequest.Reason, _ context: SignInContext,
        after failure: VaultError? = nil
    ) async throws -> SignInResult {
        guard let prompt else {
            throw VaultError(
                .configurationInvalid,
                "The server wants user name and password for an API token, but this program cannot ask for them.")
        }
        let typed = try await prompt.credentials(
            for: .init(server: server.connection.endpoint.url, reason: reason, failure: failure))
        let password = try typed.checked(minimumPasswordLength: 1)
        let attempts = LoginAttempts(
            backend: server.connection.endpoint.url, username: typed.username, context: context)
        let token = try await attempts.charge {
            try await server.newAPIToken(username: typed.username, password: password)
        }
        return try await server.signedIn(token, clientID: "", method: .serverToken)
    }

    private func oauth(_ server: Server, _ context: SignInContext) async throws -> SignInResult {
        let clients = ServerClients(server: server, context: context)
        let (receiver, client) = try await clients.receiverAndClient(for: delivery)
        let request = AuthorizationRequest(
            server: server, clientID: client.id, redirectURI: receiver.redirectURI,
            scopes: server.scopes(over: context.settings.scopes))
        do {
            let token = try await receiver.finish(
                opening: request.url, with: userAgent
            ) { redirect in
                try await server.redeem(request, of: client, redirect)
            }
            await clients.keep(client, redirectURI: receiver.redirectURI)
            return token
        } catch {
            // The server knew the client. After any other error, the next sign-in registers another client.
            if (error as? OpenIDConnectError)?.code == .denied {
                await clients.keep(client, redirectURI: receiver.redirectURI)
            }
            throw error
        }
    }

    /// Whether the cause is technical, and a password may work instead. False if the person refused, or if the redirect
    /// may be forged.
    private static func isTechnical(_ error: any Error) -> Bool {
        guard !Task.isCancelled else { return false }
        switch error {
        case let error as OpenIDConnectError:
            switch error.code {
            case .cancelled, .denied, .stateMismatch, .callbackInvalid, .userInfoInvalid: return false
            case .unavailable: return error.status != nil || error.providerError != nil
            default: return true
            }
        case let error as VaultError:
            return error.code == .configurationInvalid && error.detail != .clientPageMissing
        case is CancellationError, is RedirectListenerError, is StoreError: return false
        default: return true
        }
    }
}
