internal import Logging
internal import OpenIDConnect
internal import VaultBase
internal import VaultHTTP
internal import VaultStorage
internal import VaultUnlock

/// Runs sign-ins. A redirect that the app receives goes to the sign-in that started last.
final class SignIns: Sendable {
    private let settings: Auth.Settings?
    private let transport: any HTTPTransport
    private let listening: any RedirectListening
    private let accounts: Accounts
    private let issuers: Issuers
    private let providers: Providers
    private let redirects = Lock<AsyncStream<String>.Continuation?>(nil)

    init(
        settings: Auth.Settings?, transport: any HTTPTransport, listening: any RedirectListening, accounts: Accounts,
        issuers: Issuers, providers: Providers
    ) {
        self.settings = settings
        self.transport = transport
        self.listening = listening
        self.accounts = accounts
        self.issuers = issuers
        self.providers = providers
    }

    /// - Parameters:
    ///   - known: the issuer of an account that signs in again; nil for the one of the settings.
    ///   - layout: the stored layout of an account that signs in again; nil for a new account.
    func run(_ method: any SignIn, at known: String?, layout: StoredLayout?) async throws -> SignInResult {
        guard var settings, case let issuer = known ?? settings.issuer, !issuer.isEmpty else {
            throw VaultError(
                .configurationInvalid,
                "The issuer is missing. Set the URL of the identity provider, backend or server.")
        }
        try accounts.requireAllowed(issuer: issuer)
        // Only the configured issuer may get the secret.
        if issuer != settings.issuer { settings.clientSecret = nil }
        settings.issuer = issuer
        // An account keeps what was allowed at its registration.
        if known != nil { settings.allowsInsecureHTTP = true }
        let (stream, continuation) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(16))
        defer { continuation.finish() }
        // A redirect to a port of this machine goes to the listener, not through the app.
        let isOfApp = try LoopbackRedirect(settings.redirectURI) == nil
        let previous = redirects.withLock { redirects in
            defer { redirects = isOfApp ? continuation : nil }
            return redirects
        }
        previous?.finish()
        let context = SignInContext(
            settings: settings, transport: transport, listening: listening, clock: accounts.clock,
            store: accounts.store, appRedirects: stream, layout: layout, issuers: issuers.kinds,
            provider: { [providers] client in
                providers.provider(
                    issuer: issuer, clientID: client.id, clientSecret: client.secret,
                    authenticationMethod: client.authenticationMethod)
            })
        do {
            accounts.logger.info("signing in", metadata: ["method": "\(type(of: method))"])
            var token = try await method.run(in: context)
            accounts.logger.info("signed in", metadata: token.logMetadata)
            // A sign-in may have learned more about the server than the settings know.
            token.layout = try token.layout ?? layout ?? issuers.layout(of: token)
            return token
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// - Returns: false if no sign-in waits for a redirect.
    func handleRedirect(_ url: String) -> Bool {
        switch redirects.withLock({ $0 })?.yield(url) {
        case .enqueued, .dropped: true
        default: false
        }
    }
}
