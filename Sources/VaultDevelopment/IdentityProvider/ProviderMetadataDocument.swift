/// The metadata document of the provider (OpenID Connect Discovery 1.0 section 3, RFC 8414, RFC 9207 section 3).
struct ProviderMetadataDocument: Encodable {
    /// A member's value.
    enum Value: Encodable {
        case text(String)
        case list([String])
        case flag(Bool)

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let value): try container.encode(value)
            case .list(let value): try container.encode(value)
            case .flag(let value): try container.encode(value)
            }
        }
    }

    private(set) var members: [String: Value]

    func encode(to encoder: any Encoder) throws { try members.encode(to: encoder) }

    init(_ options: DevelopmentIdentityProvider.Options, issuer: String, grantTypes: [String]) {
        members = [
            "issuer": .text(issuer),
            "authorization_endpoint": .text("\(issuer)/authorize"),
            "token_endpoint": .text("\(issuer)/token"),
            "revocation_endpoint": .text("\(issuer)/revoke"),
            "userinfo_endpoint": .text("\(issuer)/userinfo"),
            "jwks_uri": .text("\(issuer)/jwks"),
            "scopes_supported": .list(options.scopes),
            "response_types_supported": .list(["code"]),
            "response_modes_supported": .list(["query"]),
            "grant_types_supported": .list(grantTypes),
            "subject_types_supported": .list(["public"]),
            "id_token_signing_alg_values_supported": .list(["ES256"]),
            "code_challenge_methods_supported": .list(["S256"]),
            "authorization_response_iss_parameter_supported": .flag(true),
            "claims_supported": .list([
                "sub", "iss", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "email", "email_verified",
                "preferred_username", "name",
            ]),
            "request_parameter_supported": .flag(false),
            "request_uri_parameter_supported": .flag(false),
        ]
        let methods = Self.authenticationMethods(options)
        if !methods.isEmpty {
            members["token_endpoint_auth_methods_supported"] = .list(methods)
            members["revocation_endpoint_auth_methods_supported"] = .list(methods)
        }
        if options.offersDeviceAuthorization {
            members["device_authorization_endpoint"] = .text("\(issuer)/device_authorization")
        }
        if options.offersRegistration { members["registration_endpoint"] = .text("\(issuer)/register") }
        addProtection(options, issuer: issuer)
        if options.offersEndSession { members["end_session_endpoint"] = .text("\(issuer)/end_session") }
    }

    private mutating func addProtection(_ options: DevelopmentIdentityProvider.Options, issuer: String) {
        if options.pushedAuthorization.isOffered {
            members["pushed_authorization_request_endpoint"] = .text("\(issuer)/par")
            members["require_pushed_authorization_requests"] = .flag(options.pushedAuthorization == .required)
        }
        if options.dpop != .off { members["dpop_signing_alg_values_supported"] = .list(["ES256"]) }
    }

    mutating func remove(_ names: Set<String>) { members = members.filter { !names.contains($0.key) } }

    /// The methods of client authentication; empty for "not announced".
    private static func authenticationMethods(_ options: DevelopmentIdentityProvider.Options) -> [String] {
        guard !options.clientSecretMethods.isEmpty else { return [] }
        let isPublic = options.clientSecret == nil || (options.offersRegistration && !options.insistsOnClientSecret)
        let isConfidential = options.clientSecret != nil || options.offersRegistration
        return (isPublic ? ["none"] : []) + (isConfidential ? options.clientSecretMethods.map(\.name) : [])
    }
}
