/// The optional parameters of a sign-in, besides the protocol's own (OpenID Connect Core section 3.1.2.1, RFC 6749
/// section 3.1).
///
/// Nil or an empty text leaves a parameter out. The provider may ignore each of them.
public struct SignInParameters: Sendable, Hashable {
    /// The pages that the provider shows, separated by spaces: `login`, `consent`, `select_account`; or `none` alone
    /// for no page. With `none`, the sign-in throws `interactionRequired` if the provider has to ask the person.
    public var prompt: String?
    /// The provider's name for the person who signs in, mostly an e-mail address. It fills in the login form, but
    /// another person can still sign in.
    public var loginHint: String?
    /// The wanted levels of authentication, best first, separated by spaces. A provider may sign the person in with
    /// less (section 5.5.1.1). This library does not check it: compare the claim `acr` in ``IDToken/claimsJSON``
    /// yourself.
    public var acrValues: String?
    /// The languages of the provider's pages, best first, separated by spaces: `da en`.
    public var uiLocales: String?
    /// The API that the access token is for. Providers such as Auth0 want it here.
    public var audience: String?
    /// Other parameters by the provider's names: `access_type` or `hd` at Google, `kc_idp_hint` at Keycloak. This
    /// library does not check the answer for them: after `max_age` compare the claim `auth_time` yourself.
    public var additionalParameters: [String: String]

    /// Collects parameters; see each property.
    public init(
        prompt: String? = nil, loginHint: String? = nil, acrValues: String? = nil, uiLocales: String? = nil,
        audience: String? = nil, additionalParameters: [String: String] = [:]
    ) {
        self.prompt = prompt
        self.loginHint = loginHint
        self.acrValues = acrValues
        self.uiLocales = uiLocales
        self.audience = audience
        self.additionalParameters = additionalParameters
    }

    /// Returns these parameters, and from `others` the ones that are not set here.
    public func over(_ others: SignInParameters) -> SignInParameters {
        var merged = self
        for (_, parameter) in Self.own {
            merged[keyPath: parameter] = self[keyPath: parameter] ?? others[keyPath: parameter]
        }
        merged.additionalParameters.merge(others.additionalParameters) { own, _ in own }
        return merged
    }

    /// Checks that a sign-in can use these parameters.
    ///
    /// - Throws: ``OpenIDConnectError`` with code `configurationInvalid`, which names the wrong parameter: the sign-in
    ///   sets it itself, it has its own property, or a character in it is not allowed.
    public func validate() throws {
        func invalid(_ reason: String) -> OpenIDConnectError { OpenIDConnectError(.configurationInvalid, reason) }
        for name in additionalParameters.keys.sorted() {
            guard !name.isEmpty, name.utf8.count <= 100, name.utf8.allSatisfy(Self.isNameCharacter) else {
                throw invalid("the name of a parameter is not valid. Use only letters, digits, and the signs - . _")
            }
            // Some providers ignore upper and lower case in names.
            guard !Self.protocolNames.contains(name.lowercased()) else {
                throw invalid("the sign-in sets the parameter \(name) itself. Remove it from the parameters")
            }
            guard !Self.own.contains(where: { $0.name == name.lowercased() }) else {
                throw invalid("the parameter \(name) has a setting of its own. Use that setting")
            }
        }
        for (name, value) in form
        where value.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
            throw invalid("the value of the parameter \(name) has a control character, such as a line break. Remove it")
        }
        // Section 3.1.2.1: `none` together with another value is an error.
        if let values = prompt?.split(separator: " "), values.count > 1, values.contains("none") {
            throw invalid("the parameter prompt has none and other values. Use none alone, or leave it out")
        }
    }

    /// The parameters as they are sent.
    var form: ProviderConnection.Form {
        let own = Self.own.map { ($0.name, self[keyPath: $0.parameter]) }
        return (own + additionalParameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
            .compactMap { name, value in value.flatMap { $0.isEmpty ? nil : (name, $0) } }
    }

    /// The table of the parameters that have a property, by the names that are sent.
    private static let own: [(name: String, parameter: any WritableKeyPath<SignInParameters, String?> & Sendable)] = [
        ("prompt", \.prompt), ("login_hint", \.loginHint), ("acr_values", \.acrValues), ("ui_locales", \.uiLocales),
        ("audience", \.audience),
    ]

    /// The names that the protocol sets itself, in authorization, pushed and device requests and for client
    /// authentication.
    private static let protocolNames: Set = [
        "response_type", "response_mode", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
        "code_challenge_method", "request", "request_uri", "registration", "dpop_jkt", "client_secret",
        "client_assertion", "client_assertion_type", "grant_type", "code", "code_verifier", "device_code",
        "refresh_token", "username", "password",
    ]

    /// Whether a byte is a `name-char` of RFC 6749 appendix A.
    private static func isNameCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
