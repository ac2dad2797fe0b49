public import OpenIDConnect
public import VaultStorage

/// Signs in at an OpenID provider in the browser: authorization code with PKCE (RFC 8252).
public struct BrowserSignIn: SignIn {
    let userAgent: any UserAgent
    let delivery: RedirectDelivery
    let opensAtOnce: Bool
    let parameters: SignInParameters

    /// - Parameters:
    ///   - userAgent: shows the login to the person.
    ///   - delivery: how the redirect comes back.
    ///   - opensAtOnce: whether the address is opened within a few seconds. If a person has to copy the address, a
    ///     pushed request (RFC 9126) would expire too early. So it is not pushed then, unless the provider requires
    ///     that.
    ///   - parameters: the parameters of this sign-in. They replace those of the configuration. An empty text removes
    ///     one.
    public init(
        using userAgent: any UserAgent, redirect delivery: RedirectDelivery = .automatic, opensAtOnce: Bool = true,
        parameters: SignInParameters = SignInParameters()
    ) {
        self.parameters = parameters
        self.userAgent = userAgent
        self.delivery = delivery
        self.opensAtOnce = opensAtOnce && !delivery.isPasted
    }

    /// Signs in with the browser. ``AuthProtocol/signIn(_:)`` calls it, and throws each error below as a `VaultError`.
    /// It waits at most 300 seconds for the browser.
    ///
    /// - Returns: the login, with a verified ID token. It is not stored yet.
    /// - Throws: `OpenIDConnectError`: `denied`: the person refused. `unavailable`, `timedOut`, `interrupted`: try
    ///   again later. Other codes: see `OpenIDConnectError`. `RedirectListenerError` with code `timedOut`, `VaultError`
    ///   with code `cancelled`: the browser sent no answer in time, start again. `VaultError` with code
    ///   `configurationInvalid` when the redirect address or the browser cannot be used. Errors of the user agent.
    public func run(in context: SignInContext) async throws -> SignInResult {
        let (receiver, client) = try await context.receiverAndClient(for: delivery)
        let provider = context.provider(client)
        let request: AuthorizationRequest
        do {
            request = try await context.using(client) {
                try await provider.authorizationRequest(
                    redirectURI: receiver.redirectURI, scopes: context.settings.scopes,
                    parameters: parameters.over(context.settings.parameters), mayPush: opensAtOnce)
            }
        } catch {
            await receiver.stop()
            throw error
        }
        return try await receiver.finish(opening: request.url, with: userAgent) { redirect in
            try await context.using(client) {
                try SignInResult(try await provider.redeem(request, callback: redirect), client: client, in: context)
            }
        }
    }
}
