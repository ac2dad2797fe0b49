internal import FoundationEssentials

/// An app that the provider knows: the configured one, or one that registered itself.
struct Client: Codable {
    var identifier: String
    /// What a person calls it.
    var name: String?
    var redirectURIs: [String] = []
    /// Any loopback redirect URI with a common path, besides ``redirectURIs``.
    var allowsAnyLoopbackRedirect = false
    var postLogoutRedirectURIs: [String] = []
    var grantTypes: [String]
    /// The names of RFC 7591 section 2; `none` alone for a public client.
    var authenticationMethods = ["none"]
    var secretDigest: Data?
    /// In seconds since 1970; nil for never.
    var secretExpiresAt: Int?
    /// In seconds since 1970.
    var issuedAt = 0
    /// Of the token that lets the client see and remove itself (RFC 7592).
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

/// What a client sent to an endpoint of its own, as opposed to the browser's.
struct ClientRequest: Sendable {
    /// nil when the body is not a form.
    var form: FormParameters?
    /// The header `Authorization`.
    var authorization: String?
    /// The headers `DPoP`.
    var proofs: [String] = []
}

extension AuthorizationServer {
    /// The grant types that are offered, by the names of RFC 7591 section 2.
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

    /// The client that a request is from, its secret checked (RFC 6749 section 2.3).
    ///
    /// - Parameter entry: Learns what the request claims, so that a test sees it even if it is refused.
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

    /// What clients with a secret may use; what RFC 8414 section 2 says where nothing is announced.
    var secretMethods: [String] {
        options.clientSecretMethods.isEmpty ? ["client_secret_basic"] : options.clientSecretMethods.map(\.name)
    }

    /// Reads HTTP Basic authentication, in which both parts are form-encoded first.
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
