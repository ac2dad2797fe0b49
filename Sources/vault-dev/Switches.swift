internal import ArgumentParser
internal import VaultDevelopment

/// The switches of the identity provider.
struct ProviderSwitches: ParsableArguments {
    @Option(help: ArgumentHelp("How long an access token is valid.", valueName: "seconds"))
    var accessTokenLifetime = 300

    @Option(
        help: ArgumentHelp(
            "Also allow this redirect URI, such as myapp://callback. Can be repeated.", valueName: "uri"))
    var redirectURI: [String] = []

    @Flag(inversion: .prefixedNo, help: "Sign in devices (RFC 8628).")
    var device = true

    @Option(help: ArgumentHelp("How long a device waits between polls.", valueName: "seconds"))
    var deviceInterval = 5

    @Flag(inversion: .prefixedNo, help: "Let clients register themselves (RFC 7591).")
    var registration = true

    @Flag(help: "Give every client that registers a secret.")
    var registrationSecret = false

    @Option(
        help: ArgumentHelp(
            "Give the client vault-cli this secret. It is as public as the passwords.", valueName: "text"))
    var clientSecret: String?

    @Flag(inversion: .prefixedNo, help: "Also offer the metadata document of RFC 8414.")
    var oauthMetadata = true

    @Flag(inversion: .prefixedNo, help: "Offer an endpoint for the logout.")
    var endSession = true

    @Flag(help: "Take username and password at the token endpoint.")
    var passwordGrant = false

    @Option(
        help: ArgumentHelp(
            "Pushed authorization requests (RFC 9126): offered, required, or offered and then refused.",
            valueName: "how"))
    var par: PushedAuthorizationSwitch?

    @Option(help: ArgumentHelp("Tokens bound to a key (DPoP, RFC 9449): offered or required.", valueName: "how"))
    var dpop: DPoPSwitch?

    @Flag(help: "Demand a nonce in DPoP proofs.")
    var dpopNonce = false

    func validate() throws {
        guard dpop != nil || !dpopNonce else { throw ValidationError("--dpop-nonce needs --dpop.") }
        guard (1...366 * 86400).contains(accessTokenLifetime) else {
            throw ValidationError("The access token lifetime must be 1 second to 366 days.")
        }
        guard (0...3600).contains(deviceInterval) else {
            throw ValidationError("The polling interval must be 0 seconds to 1 hour.")
        }
    }

    var options: DevelopmentIdentityProvider.Options {
        var options = DevelopmentIdentityProvider.Options()
        options.accessTokenLifetime = accessTokenLifetime
        options.redirectURIs = redirectURI
        options.offersDeviceAuthorization = device
        options.devicePollingInterval = deviceInterval
        options.offersRegistration = registration
        options.insistsOnClientSecret = registrationSecret
        options.clientSecret = clientSecret
        options.metadataDocuments = oauthMetadata ? [.openID, .oauth] : [.openID]
        options.offersEndSession = endSession
        options.allowsPasswordGrant = passwordGrant
        options.pushedAuthorization = par?.option ?? .off
        options.dpop = dpop?.option ?? .off
        options.demandsDPoPNonces = dpopNonce
        return options
    }
}

enum PushedAuthorizationSwitch: String, ExpressibleByArgument, CaseIterable {
    case offered, required, refused

    var option: DevelopmentIdentityProvider.PushedAuthorization {
        switch self {
        case .offered: .offered
        case .required: .required
        case .refused: .refused
        }
    }
}

enum DPoPSwitch: String, ExpressibleByArgument, CaseIterable {
    case offered, required

    var option: DevelopmentIdentityProvider.DPoP { self == .required ? .required : .offered }
}

struct BackendSwitches: ParsableArguments {
    @Option(help: ArgumentHelp("How long the backend's access tokens are valid. (default: 900)", valueName: "seconds"))
    var backendTokenLifetime: Int?

    @Flag(
        name: .customLong("backend-without-oauth"),
        help: """
            Behave like an older server: GET /api/info names no features, there is no OAuth, and POST /api/auth gives \
            API tokens.
            """)
    var backendWithoutOAuth = false

    @Flag(help: "Behave like the oldest servers: there is no GET /api/info, and no OAuth.")
    var backendWithoutInfo = false

    @Flag(
        help: """
            Take what Readeck 0.22 refuses: keep OAuth's clients, ignore unknown scopes, issue refresh tokens, and \
            give API tokens beside OAuth.
            """)
    var backendLenient = false

    @Flag(help: "With --backend-lenient: let OAuth give no refresh token.")
    var backendWithoutRefresh = false

    @Option(
        help: ArgumentHelp(
            "Also allow this redirect URI at GET /auth/login. Can be repeated.", valueName: "uri"))
    var backendRedirectURI: [String] = []

    @Option(
        help: ArgumentHelp(
            "Ask for this code beside the e-mail address and the password. It is as public as the passwords.",
            valueName: "text"))
    var backendCode: String?

    @Option(
        help: ArgumentHelp(
            "How often a login with a password may refresh its tokens within 15 minutes; 0 for no limit. (default: 10)",
            valueName: "number"))
    var backendRefreshLimit: Int?

    var areSet: Bool {
        backendTokenLifetime != nil || backendWithoutOAuth || backendWithoutInfo || backendLenient
            || backendWithoutRefresh || !backendRedirectURI.isEmpty || backendCode != nil || backendRefreshLimit != nil
    }

    func validate() throws {
        guard backendLenient || !backendWithoutRefresh else {
            throw ValidationError("--backend-without-refresh needs --backend-lenient.")
        }
        guard (backendRefreshLimit ?? 0) >= 0 else {
            throw ValidationError("The number of refreshes must be 0 or more.")
        }
        guard (1...366 * 86400).contains(backendTokenLifetime ?? 900) else {
            throw ValidationError("The access token lifetime must be 1 second to 366 days.")
        }
    }

    /// - Parameter deviceInterval: how long a device waits between polls, in seconds.
    func options(deviceInterval: Int) -> DevelopmentBackend.Options {
        var options = DevelopmentBackend.Options()
        options.accessTokenLifetime = backendTokenLifetime ?? options.accessTokenLifetime
        options.devicePollingInterval = deviceInterval
        options.hasInfo = !backendWithoutInfo
        options.features = backendWithoutOAuth || backendWithoutInfo ? nil : options.features
        options.isLenient = backendLenient
        options.oauthIssuesRefreshToken = !backendWithoutRefresh
        options.redirectURIs = backendRedirectURI
        options.code = backendCode
        options.maximumRefreshes = backendRefreshLimit ?? options.maximumRefreshes
        return options
    }
}
