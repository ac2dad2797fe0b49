internal import FoundationEssentials

/// The OAuth clients, which register themselves (RFC 7591).
extension BackendServer {
    struct OAuthClient {
        var identifier: String
        var name: String
        var redirectURIs: [String]
        var grantTypes: [String]
        /// The time when the server forgets the client; nil for never.
        var expiresAt: Date?
    }

    private struct ClientAnswer: Encodable {
        var clientId: String
        var clientName: String
        var redirectUris: [String]
        var grantTypes: [String]
        var responseTypes = ["code"]
        var tokenEndpointAuthMethod = "none"
    }

    func register(_ call: BackendCall) throws -> BackendAnswer {
        try requireOAuth()
        let body = try call.body(OAuthClientRequest.self)
        if options.isLenient { try body.checkLeniently() } else { try body.check() }
        var client = OAuthClient(
            identifier: UUID().uuidString.lowercased(), name: body.clientName ?? "",
            redirectURIs: body.redirectUris ?? [], grantTypes: body.grantTypes ?? OAuthClientRequest.allGrantTypes)
        if options.isLenient {
            client.grantTypes =
                OAuthClientRequest.allGrantTypes + (issuesRefreshTokens ? ["refresh_token"] : [])
        } else {
            client.expiresAt = options.now().addingTimeInterval(600)
        }
        clients[client.identifier] = client
        return try .json(
            ClientAnswer(
                clientId: client.identifier, clientName: client.name, redirectUris: client.redirectURIs,
                grantTypes: client.grantTypes),
            status: 201)
    }

    /// Returns a client that the server still knows.
    func client(_ identifier: String?) -> OAuthClient? {
        guard let identifier, let client = clients[identifier],
            client.expiresAt.map({ $0 > options.now() }) ?? true
        else { return nil }
        return client
    }
}

/// The request of a client that registers.
struct OAuthClientRequest: Decodable {
    static let deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"
    static let allGrantTypes = ["authorization_code", deviceGrant]

    var clientName: String?
    var redirectUris: [String]?
    var clientUri: String?
    var softwareId: String?
    var softwareVersion: String?
    var grantTypes: [String]?
    var responseTypes: [String]?
    var tokenEndpointAuthMethod: String?

    func checkLeniently() throws(BackendError) {
        guard clientName?.isEmpty == false, let redirectUris, !redirectUris.isEmpty,
            redirectUris.allSatisfy(RedirectURI.isRegistrable)
        else { throw .oauth("invalid_client_metadata", "The name or a redirect URI cannot be used.") }
    }

    /// Refuses what the API document of Readeck 0.22 refuses.
    func check() throws(BackendError) {
        let types = grantTypes ?? Self.allGrantTypes
        let uris = redirectUris ?? []
        guard !uris.isEmpty || !types.contains("authorization_code"), uris.allSatisfy(Self.isAllowed(redirectURI:))
        else {
            throw .oauth("invalid_redirect_uri", "A redirect URI is missing, or cannot be used.")
        }
        let members: [(name: String, isFine: Bool)] = [
            ("client_name", Self.isText(clientName, atMost: 128)),
            ("client_uri", Self.isText(clientUri, atMost: 256) && Self.isPublic(clientUri ?? "")),
            ("software_id", Self.isText(softwareId, atMost: 128)),
            ("software_version", Self.isText(softwareVersion, atMost: 64)),
            ("grant_types", types.allSatisfy(Self.allGrantTypes.contains)),
            ("response_types", (responseTypes ?? []).allSatisfy { $0 == "code" }),
            ("token_endpoint_auth_method", (tokenEndpointAuthMethod ?? "none") == "none"),
        ]
        if let refused = members.first(where: { !$0.isFine }) {
            throw .oauth("invalid_client_metadata", "The member \(refused.name) is missing, or cannot be used.")
        }
    }

    private static func isText(_ text: String?, atMost count: Int) -> Bool {
        (1...count).contains(text?.count ?? 0)
    }

    /// A name of this machine is refused, because only an address of this machine is certain to stay here.
    private static func isAllowed(redirectURI: String) -> Bool {
        RedirectURI.isRegistrable(redirectURI) && !redirectURI.hasPrefix("http://localhost")
    }

    /// Whether a web address may be public. Readeck looks the name up, and refuses a private address. This server
    /// refuses all addresses without a name.
    private static func isPublic(_ uri: String) -> Bool {
        guard uri.hasPrefix("https://") else { return false }
        let host = uri.dropFirst("https://".count).prefix { !"/:?#".contains($0) }.lowercased()
        guard host.contains("."), !host.hasPrefix("."), !host.hasSuffix(".localhost") else { return false }
        return !host.allSatisfy { $0.isNumber || $0 == "." }
    }
}
