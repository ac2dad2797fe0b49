/// What a sign-in asks the provider for besides its protocol's own parameters (OpenID Connect Core section 3.1.2.1,
/// RFC 6749 section 3.1).
///
/// Nil leaves a parameter out; so does an empty text. The provider decides what it makes of each of them.
public struct SignInParameters: Sendable, Hashable {
    /// What the provider shows, values with spaces between them: `login`, `consent`, `select_account`, or `none` alone for
    /// nothing at all. With `none`, a provider that has to ask the person fails the sign-in with `interactionRequired`.
    public var prompt: String?
    /// Who is going to sign in, as the provider knows the person: mostly an e-mail address. It fills in the login form;
    /// somebody else can sign in all the same.
    public var loginHint: String?
    /// How the person should prove who they are, the wanted values first, with spaces between them. A provider may do less
    /// and sign the person in all the same (section 5.5.1.1). This library does not compare: read the claim `acr` in
    /// ``IDToken/claimsJSON`` yourself, and refuse what is not enough.
    public var acrValues: String?
    /// The languages of the provider's pages, the wanted ones first, with spaces between them: `da en`.
    public var uiLocales: String?
    /// The API that the access token is for, at providers that want it here, such as Auth0.
    public var audience: String?
    /// Others, by the name that the provider has for them: `access_type` or `hd` at Google, `kc_idp_hint` at Keycloak.
    /// What they ask for is not checked in the answer: after `max_age` compare the claim `auth_time` yourself.
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

    /// These parameters, and from `others` what is not set here.
    public func over(_ others: SignInParameters) -> SignInParameters {
        SignInParameters(
            prompt: prompt ?? others.prompt, loginHint: loginHint ?? others.loginHint,
            acrValues: acrValues ?? others.acrValues, uiLocales: uiLocales ?? others.uiLocales,
            audience: audience ?? others.audience,
            additionalParameters: additionalParameters.merging(others.additionalParameters) { own, _ in own })
    }

    /// Finds out whether a sign-in can use these.
    ///
    /// - Throws: ``OpenIDConnectError`` with code `configurationInvalid`, which names the parameter: one that the sign-in
    ///   sets itself, one that has a property of its own, or one with characters that it cannot have.
    public func validate() throws {
        func invalid(_ reason: String) -> OpenIDConnectError { OpenIDConnectError(.configurationInvalid, reason) }
        for name in additionalParameters.keys.sorted() {
            guard !name.isEmpty, name.utf8.count <= 100, name.utf8.allSatisfy(Self.isNameCharacter) else {
                throw invalid("the name of a parameter is not valid. Use only letters, digits, and the signs - . _")
            }
            // Some providers take the names in any case.
            guard !Self.protocolNames.contains(name.lowercased()) else {
                throw invalid("the sign-in sets the parameter \(name) itself. Remove it from the parameters")
            }
            guard !Self.ownNames.contains(name.lowercased()) else {
                throw invalid("the parameter \(name) has a setting of its own. Use that setting")
            }
        }
        for (name, value) in form
        where value.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
            throw invalid("the value of the parameter \(name) has a control character, such as a line break. Remove it")
        }
        // Section 3.1.2.1: with another value it is an error.
        if let values = prompt?.split(separator: " "), values.count > 1, values.contains("none") {
            throw invalid("the parameter prompt has none and other values. Use none alone, or leave it out")
        }
    }

    /// As they are sent.
    var form: ProviderConnection.Form {
        let own = [
            ("prompt", prompt), ("login_hint", loginHint), ("acr_values", acrValues), ("ui_locales", uiLocales),
            ("audience", audience),
        ]
        return (own + additionalParameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
            .compactMap { name, value in value.flatMap { $0.isEmpty ? nil : (name, $0) } }
    }

    /// What the protocol itself sets: in an authorization request, in a pushed or a device request, or to name the client.
    private static let protocolNames: Set = [
        "response_type", "response_mode", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
        "code_challenge_method", "request", "request_uri", "registration", "dpop_jkt", "client_secret",
        "client_assertion", "client_assertion_type", "grant_type", "code", "code_verifier", "device_code",
        "refresh_token", "username", "password",
    ]

    private static let ownNames: Set = ["prompt", "login_hint", "acr_values", "ui_locales", "audience"]

    /// RFC 6749 appendix A: `name-char`.
    private static func isNameCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
