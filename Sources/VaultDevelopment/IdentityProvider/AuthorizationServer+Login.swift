internal import FoundationEssentials
internal import VaultBase

/// The way from the authorization request to the code (RFC 6749 section 4.1, OpenID Connect Core section 3.1.2).
extension AuthorizationServer {
    /// The next step of the browser.
    enum LoginStep {
        /// The login form, with the problem of the last attempt.
        case form(request: String, PendingAuthorization, problem: String?)
        /// A redirect to the client.
        case redirect(String)
        /// A page without a redirect, as the sender of the browser cannot be trusted.
        case refuse(String)
    }

    /// Handles a request at the authorization endpoint.
    func authorize(_ parameters: FormParameters?) -> LoginStep {
        guard let parameters else {
            log(.init(.authorization, .init(rawValue: "invalid_request")))
            return .refuse("The address is damaged: it has an escape that cannot be read.")
        }
        guard let client = client(parameters["client_id"]) else {
            log(.init(.authorization, .init(rawValue: "invalid_client")))
            return .refuse("The client “\(parameters["client_id"] ?? "")” is not known here.")
        }
        if let uri = parameters["request_uri"], options.pushedAuthorization.isOffered {
            return resume(uri, client: client)
        }
        guard let redirectURI = parameters["redirect_uri"],
            client.allows(redirectURI: redirectURI)
        else {
            log(.init(.authorization, .init(rawValue: "invalid_redirect_uri")))
            return .refuse("The redirect URI “\(parameters["redirect_uri"] ?? "")” is not allowed for this client.")
        }
        do throws(OAuthError) {
            if options.pushedAuthorization == .required {
                throw .invalidRequest("Authorization requests must be pushed here.")
            }
            let authorization = try pendingAuthorization(parameters, client: client, redirectURI: redirectURI)
            return show(authorization, askedFor: parameters.askedFor)
        } catch {
            var entry = ProviderRequest(.authorization, error.outcome, clientID: client.identifier)
            entry.parameters = parameters.askedFor
            log(entry)
            let answer = [("error", error.code), ("error_description", error.detail)]
            return .redirect(callback(redirectURI, state: parameters["state"], answer))
        }
    }

    /// Continues a pushed request by its name.
    private func resume(_ uri: String, client: Client) -> LoginStep {
        guard let authorization = takePushed(uri, client: client) else {
            var entry = ProviderRequest(.authorization, .init(rawValue: "invalid_request_uri"))
            entry.clientID = client.identifier
            log(entry)
            return .refuse("This request is already used or expired. Start again from the app.")
        }
        return show(authorization)
    }

    /// - Parameter askedFor: The parameters in the address; nil for a pushed request.
    private func show(_ authorization: PendingAuthorization, askedFor: [String: String]? = nil) -> LoginStep {
        forgetExpired()
        let identifier = randomIdentifier()
        pending[identifier] = authorization
        var entry = ProviderRequest(.authorization, .ok, clientID: authorization.client.identifier)
        entry.isPushed = askedFor == nil
        entry.parameters = askedFor ?? [:]
        log(entry)
        return .form(request: identifier, authorization, problem: nil)
    }

    func pendingAuthorization(
        _ parameters: FormParameters, client: Client, redirectURI: String
    ) throws(OAuthError) -> PendingAuthorization {
        if let name = parameters.repeated { throw .invalidRequest("\(printable(name)) is given more than once.") }
        guard parameters["response_type"] == "code" else {
            throw OAuthError("unsupported_response_type", "Only response_type=code is supported.")
        }
        guard client.grantTypes.contains("authorization_code") else { throw .unauthorizedClient }
        guard parameters["request"] == nil else { throw OAuthError("request_not_supported", "No request objects.") }
        guard parameters["request_uri"] == nil else {
            throw OAuthError("request_uri_not_supported", "No request objects.")
        }
        guard parameters["response_mode"] ?? "query" == "query" else {
            throw .invalidRequest("Only response_mode=query is supported.")
        }
        guard let challenge = parameters["code_challenge"], parameters["code_challenge_method"] == "S256",
            Base64URL.decode(challenge)?.count == 32
        else {
            throw .invalidRequest("PKCE with code_challenge_method=S256 is required.")
        }
        guard parameters["prompt"] != "none" else {
            throw OAuthError("login_required", "Nobody stays logged in here.")
        }
        let asked = (parameters["scope"] ?? "").split(separator: " ").map(String.init)
        guard asked.contains("openid") else { throw OAuthError("invalid_scope", "The scope openid is missing.") }
        return PendingAuthorization(
            client: client, redirectURI: redirectURI, state: parameters["state"], nonce: parameters["nonce"],
            challenge: challenge,
            scope: options.scopes.filter(asked.contains), loginHint: parameters["login_hint"],
            keyThumbprint: options.dpop == .off ? nil : parameters["dpop_jkt"],
            expiresAt: options.now().addingTimeInterval(600))
    }

    /// Handles the answer to the login page.
    func login(_ form: FormParameters?) -> LoginStep {
        forgetExpired()
        guard let identifier = form?["request"], var authorization = pending[identifier] else {
            log(.init(.login, .init(rawValue: "unknown_request")))
            return .refuse("This login page is already used or expired. Start again from the app.")
        }
        if form?["action"] == "deny" {
            pending[identifier] = nil
            log(.init(.login, .denied))
            let answer = [("error", "access_denied"), ("error_description", "The person denied access.")]
            return .redirect(callback(authorization.redirectURI, state: authorization.state, answer))
        }
        let clientID = authorization.client.identifier
        guard let user = options.user(loggingInWith: form) else {
            log(.init(.login, .wrongPassword, clientID: clientID))
            authorization.loginHint = form?["username"]
            return .form(request: identifier, authorization, problem: "The username or the password is wrong.")
        }
        pending[identifier] = nil
        let code = randomIdentifier()
        let now = options.now()
        codes[code] = Code(
            authorization: authorization, username: user.username, authenticatedAt: now,
            expiresAt: now.addingTimeInterval(60))
        log(.init(.login, .ok, username: user.username, clientID: clientID))
        return .redirect(callback(authorization.redirectURI, state: authorization.state, [("code", code)]))
    }

    /// Returns the redirect to the client, with `state` and `iss` (RFC 9207).
    private func callback(_ redirectURI: String, state: String?, _ answer: [(String, String)]) -> String {
        let parameters = answer + (state.map { [("state", $0)] } ?? []) + [("iss", issuer)]
        return RedirectURI.adding(parameters, to: redirectURI)
    }

    /// Makes plain ASCII, as error descriptions must be (RFC 6749 section 4.1.2.1).
    private func printable(_ text: String) -> String {
        String(
            text.unicodeScalars.prefix(40).filter { $0.isASCII && $0.properties.isAlphabetic || $0 == "_" }.map(
                Character.init))
    }
}
