internal import OpenIDConnect

/// Signs in at an OpenID provider in the browser: authorization code with PKCE (RFC 8252).
public struct BrowserSignIn: SignIn {
    let userAgent: any UserAgent
    let delivery: RedirectDelivery

    /// - Parameters:
    ///   - userAgent: shows the login to the person.
    ///   - delivery: how the redirect comes back.
    public init(using userAgent: any UserAgent, redirect delivery: RedirectDelivery = .automatic) {
        self.userAgent = userAgent
        self.delivery = delivery
    }

    public func run(in context: SignInContext) async throws -> RefreshToken {
        let (receiver, client) = try await context.receiverAndClient(for: delivery)
        let provider = context.provider(client)
        let request: AuthorizationRequest
        do {
            request = try await provider.authorizationRequest(
                redirectURI: receiver.redirectURI, scopes: context.settings.scopes, mayPush: !delivery.isPasted)
        } catch {
            await receiver.stop()
            throw error
        }
        return try await receiver.finish(opening: request.url, with: userAgent) { redirect in
            try RefreshToken(try await provider.redeem(request, callback: redirect), client: client, in: context)
        }
    }
}
