internal import FoundationEssentials

/// An app that the provider knows: the configured one, or one that registered itself.
struct Client: Codable {
    var identifier: String
    /// The name for people.
    var name: String?
    var redirectURIs: [String] = []
    /// Whether any loopback redirect URI with a common path is allowed, besides ``redirectURIs``.
    var allowsAnyLoopbackRedirect = false
    var postLogoutRedirectURIs: [String] = []
    var grantTypes: [String]
    /// The allowed methods, by the names of RFC 7591 section 2; `none` alone for a public client.
    var authenticationMethods = ["none"]
    var secretDigest: Data?
    /// The expiry of the secret, in seconds since 1970; nil for never.
    var secretExpiresAt: Int?
    /// The time of the registration, in seconds since 1970.
    var issuedAt = 0
    /// The digest of the token for reading and removing the registration (RFC 7592).
    var registrationTokenDigest: Data?

    var displayName: String { name ?? identifier }

    func allows(redirectURI: String) -> Bool {
        if allowsAnyLoopbackRedirect { return RedirectURI.isAllowed(redirectURI, besides: redirectURIs) }
        return redirectURIs.contains { RedirectURI.matches(redirectURI, registered: $0) }
    }

    func allows(postLogoutRedirectURI: String) -> Bool {
        postLogoutRedirectURIs.contains(postLogoutRedirectURI) || allows(redirectURI: postLogoutRedirectURI)
    }
}

/// A request from the client itself, not from the browser.
struct ClientRequest: Sendable {
    /// The form; nil if the body is not a form.
    var form: FormParameters?
    /// The header `Authorization`.
    var authorization: String?
    /// The headers `DPoP`.
    var proofs: [String] = []
}

extension AuthorizationServer {
    /// The offered grant types, by the names of RFC 7591 section 2.
    var grantTypes: [String] {
        ["authorization_code", "refresh_token"] + (options.offersDeviceAuthorization ? [Self.deviceGrant] : [])
            + (options.allowsPasswordGrant ? ["password"] : [])
    }

    func client(_ identifier: String?) -> Client? {
        guard let identifier else { return nil }
        guard identifier == options.clientID else { return state.clients[identifier] }
        return Client(
            identifier: identifier, redirectURIs: options.redirectURIs, allowsAnyLoopbackRedirect: true,
            grantTypes: grantTypes, authenticationMethods: options.clientSecret == nil ? ["none"] : secretMethods,
            secretDigest: options.clientSecret.map(digest))
    }

    /// Returns the client of a request, after a check of its secret (RFC 6749 section 2.3).
    ///
    /// - Parameter entry: Gets the claims of the request, so that a test sees them even after a refusal.
    func authenticate(_ request: ClientRequest, entry: inout ProviderRequest) throws(OAuthError) -> Client {
        guard let form = request.form else { throw .invalidRequest("The body is not a form.") }
        if form.repeated != nil { throw .invalidRequest("A parameter is given more than once.") }
        var presented = (id: form["client_id"], secret: form["client_secret"], method: "none")
        if presented.secret != nil { presented.method = "client_secret_post" }
        if let header = request.authorization {
            guard presented.secret == nil else { throw .invalidRequest("The client authenticates in two ways.") }
            guard let basic = Self.basicCredentials(header), form["client_id"] ?? basic.id == basic.id else {
                throw .invalidClient(asked: true)
            }
            presented = (basic.id, basic.secret, "client_secret_basic")
        }
        entry.clientID = presented.id
        entry.clientAuthentication = presented.method
        guard let client = client(presented.id), client.authenticationMethods.contains(presented.method),
            client.secretDigest == presented.secret.map(digest),
            client.secretExpiresAt.map({ Double($0) > options.now().timeIntervalSince1970 }) ?? true
        else { throw .invalidClient(asked: request.authorization != nil) }
        return client
    }

    /// The methods for clients with a secret. If none are announced, the default of RFC 8414 section 2.
    var secretMethods: [String] {
        options.clientSecretMethods.isEmpty ? ["client_secret_basic"] : options.clientSecretMethods.map(\.name)
    }

    /// Reads HTTP Basic authentication with form-encoded parts.
    private static func basicCredentials(_ header: String) -> (id: String, secret: String)? {
        guard header.lowercased().hasPrefix("basic "), let bytes = Data(base64Encoded: String(header.dropFirst(6))),
            let text = String(validating: bytes, as: UTF8.self)
        else { return nil }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let id = FormParameters.decoded(parts[0]), let secret = FormParameters.decoded(parts[1])
        else { return nil }
        return (id, secret)
    }
}
