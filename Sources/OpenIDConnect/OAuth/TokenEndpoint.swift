internal import HTTPTypes
internal import VaultBase
internal import VaultHTTP

/// The token endpoint (RFC 6749 sections 4.1.3, 4.3, 5 and 6, RFC 8628 section 3.4).
extension OAuthClient {
    /// A grant that is exchanged for tokens. It does not print its secrets.
    package enum Grant: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
        case authorizationCode(String, redirectURI: String, verifier: String)
        /// `audience`: the service that the access token is for (RFC 8707); nil for the usual one.
        case refreshToken(String, audience: String? = nil)
        case deviceCode(String)
        case password(String, username: String, scopes: [String])

        package var description: String {
            switch self {
            case .authorizationCode: "Grant(authorization code)"
            case .refreshToken: "Grant(refresh token)"
            case .deviceCode: "Grant(device code)"
            case .password: "Grant(password)"
            }
        }
        package var debugDescription: String { description }
        package var customMirror: Mirror { Mirror(self, children: []) }
    }

    /// Exchanges a grant for tokens.
    ///
    /// - Parameter dpopKey: the key to bind the tokens to, or the key of the refresh token.
    package func redeem(
        _ grant: Grant, at server: any AuthorizationServer, dpopKey: DPoPKey? = nil
    ) async throws -> TokenAnswer {
        var (form, fields) = try authentication.applied(to: Self.form(of: grant), at: server)
        fields[.contentType] = "application/x-www-form-urlencoded"
        let sentAt = clock.now
        let answer = try await exchange.send(
            .post, server.tokenEndpoint, fields: fields, body: Array(FormParameters.encode(form).utf8), key: dpopKey)
        let json = JSONValue(objectIn: answer.body)
        // Some servers send an error with status 200.
        guard (200..<300).contains(answer.status.code),
            json?["error"] == nil || json?[path: server.tokenFields.accessToken] != nil
        else {
            throw Self.refusal(of: grant, answer, by: server, sent: authentication.revealing(form, fields))
        }
        guard let json else {
            throw OpenIDConnectError(
                .invalidAnswer, "the token answer is not JSON", status: answer.status.code, mayHaveBeenProcessed: true)
        }
        return TokenAnswer(json, server.tokenFields, sentAt: sentAt, status: answer.status.code)
    }

    private static func form(of grant: Grant) -> ProviderConnection.Form {
        switch grant {
        case .authorizationCode(let code, let redirectURI, let verifier):
            [
                ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirectURI),
                ("code_verifier", verifier),
            ]
        case .refreshToken(let token, let audience):
            [("grant_type", "refresh_token"), ("refresh_token", token)] + Self.parameters(of: audience)
        case .deviceCode(let code): [("grant_type", DeviceAuthorization.grantType), ("device_code", code)]
        case .password(let password, let username, let scopes):
            [
                ("grant_type", "password"), ("username", username), ("password", password),
                ("scope", scopes.joined(separator: " ")),
            ]
        }
    }

    /// Returns the parameters for an audience. `resource` is a URI (RFC 8707 section 2). For other names, many servers
    /// accept the parameter `audience` of RFC 8693.
    private static func parameters(of audience: String?) -> ProviderConnection.Form {
        guard let audience else { return [] }
        return [(audience.contains(":") ? "resource" : "audience", audience)]
    }

    private static func refusal(
        of grant: Grant, _ answer: HTTPAnswer, by server: any AuthorizationServer, sent form: ProviderConnection.Form
    ) -> OpenIDConnectError {
        let status = answer.status.code
        let error = JSONValue(objectIn: answer.body)?["error"]?.string
        let isDevice = if case .deviceCode = grant { true } else { false }
        // For a poll, the server's error code decides, not the status: some codes only mean "later".
        if let outage = ProviderConnection.outage(status), error == nil || !isDevice { return outage }
        let isPassword = if case .password = grant { true } else { false }
        let code: OpenIDConnectError.Code
        // Whether a dead refresh token is refused in a form that only this make of server has.
        var isOwnForm = false
        switch error {
        // The device code has expired, or was used.
        case "expired_token" where isDevice, "invalid_grant" where isDevice: code = .deviceCodeExpired
        case "invalid_grant": code = isPassword ? .wrongCredentials : .invalidGrant
        // Some servers give no error code. Then the password is usually wrong.
        case nil where isPassword && [400, 401, 403].contains(status): code = .wrongCredentials
        case nil where status == 400 && answer.body.isEmpty && server.refusesDeadGrantsSilently:
            code = isDevice ? .deviceCodeExpired : .invalidGrant
            isOwnForm = server.variant?.refusesDeadGrantsSilently == true
        case "access_denied": code = .denied
        case "temporarily_unavailable", "server_error": code = .unavailable
        default:
            let own = server.variant?.meaning(of: error, to: grant)
            code = own ?? (error == nil && !(400..<500).contains(status) ? .invalidAnswer : .refused)
            isOwnForm = own != nil
        }
        let refusal = ProviderConnection.refusal(answer, as: code, sent: form).processed(code == .unavailable)
        return isOwnForm ? refusal.final() : refusal
    }
}
