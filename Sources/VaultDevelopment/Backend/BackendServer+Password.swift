internal import FoundationEssentials

/// The login with user name and password at the backend itself.
extension BackendServer {
    /// The wrong passwords for an e-mail address.
    struct Failures {
        var count = 0
        var lockedUntil: Date?
    }

    private struct LoginRequest: Decodable {
        var email: String
        var password: String
        var code: String?
    }

    private struct RefreshRequest: Decodable {
        var refreshToken: String
    }

    private struct Tokens: Encodable {
        var accessToken: String
        var tokenType = "Bearer"
        /// Only in snake case.
        var expiresIn: Int?
        /// Only in camel case.
        var expiresAt: String?
        var refreshToken: String
        var userID: String?
        var user: [String: String]?
    }

    /// Exchanges e-mail address and password for tokens.
    func login(_ call: BackendCall) throws -> BackendAnswer {
        let body = try call.body(LoginRequest.self, isSnakeCase: options.usesSnakeCase)
        guard !body.email.isEmpty, !body.password.isEmpty else {
            throw BackendError.invalidRequest("E-mail address and password are needed.")
        }
        try requireUnlocked(body.email)
        guard let user = users.first(where: { $0.email == body.email }), user.password == body.password else {
            countFailure(of: body.email)
            throw BackendError(
                "The e-mail address or the password is wrong.", status: 401,
                outcome: BackendRequest.Outcome.wrongPassword.rawValue)
        }
        if let code = options.code, body.code != code {
            guard body.code != nil else {
                throw BackendError("Enter the code of your app.", status: 401, outcome: "mfa_required")
            }
            countFailure(of: body.email)
            throw BackendError("The code is wrong.", status: 401, outcome: "invalid_code")
        }
        failures[body.email] = nil
        let session = newSession(of: user.username)
        var tokens = try newTokens(for: user, session: session)
        if options.loginPerson != .nothing { tokens.userID = user.subject }
        if options.loginPerson == .object { tokens.user = object(for: user) }
        return try tokenAnswer(tokens, for: user, session: session)
    }

    private func requireUnlocked(_ email: String) throws(BackendError) {
        guard let end = failures[email]?.lockedUntil else { return }
        let now = options.now()
        guard end <= now else {
            var error = BackendError("Too many attempts. Try again later.", status: 429, outcome: "locked")
            error.retryAfter = max(1, Int(end.timeIntervalSince(now).rounded(.up)))
            throw error
        }
        failures[email] = nil
    }

    private func countFailure(of email: String) {
        failures[email, default: Failures()].count += 1
        if let count = failures[email]?.count, count >= options.maximumFailures {
            failures[email]?.lockedUntil = options.now().addingTimeInterval(Double(options.lockDuration))
        }
    }

    /// Exchanges a refresh token for new tokens. The answer does not name the person.
    func refresh(_ call: BackendCall) throws -> BackendAnswer {
        let token = try call.body(RefreshRequest.self, isSnakeCase: options.usesSnakeCase).refreshToken
        try countRefresh(with: token)
        let session = try useRefreshToken(token, clientID: nil)
        guard let known = sessions[session], let user = users.first(where: { $0.username == known.username })
        else { throw BackendError.invalidToken }
        var answer = try tokenAnswer(newTokens(for: user, session: session), for: user, session: session)
        answer.presentedGeneration = known.generation - 1
        return answer
    }

    /// Counts a refresh. The refusal has no `Retry-After`, and says in words how long to wait.
    private func countRefresh(with token: String) throws(BackendError) {
        guard let id = refreshTokens[digest(token)]?.session, let session = sessions[id] else { return }
        let now = options.now()
        let recent = session.refreshes.filter { $0 > now.addingTimeInterval(-900) }
        guard options.maximumRefreshes == 0 || recent.count < options.maximumRefreshes else {
            throw BackendError(
                "Too many refreshes. Try again in 15 minutes.", status: 429, outcome: "rate_limited",
                username: session.username)
        }
        sessions[id]?.refreshes = recent + [now]
    }

    /// Ends the session of the access token. A session with refresh tokens also wants its newest one.
    func logout(_ call: BackendCall) throws -> BackendAnswer {
        let (id, username) = try session(of: call)
        if refreshTokens.values.contains(where: { $0.session == id }) {
            let text = try call.body(RefreshRequest.self, isSnakeCase: options.usesSnakeCase).refreshToken
            guard let token = refreshTokens[digest(text)], token.session == id,
                token.generation == sessions[id]?.generation
            else {
                throw BackendError(
                    "There is no such refresh token.", status: 404, outcome: "not_found", username: username)
            }
        }
        end(id)
        return BackendAnswer(status: 204, username: username)
    }

    private func newTokens(for user: User, session: UUID) throws -> Tokens {
        let access = options.issuesOpaqueTokens ? randomIdentifier() : try jsonWebToken(for: user)
        let refresh = UUID().uuidString.lowercased()
        newAccessToken(access, session: session, lifetime: options.accessTokenLifetime)
        newRefreshToken(refresh, session: session)
        var tokens = Tokens(accessToken: access, refreshToken: refresh)
        guard options.announcesLifetime else { return tokens }
        if options.usesSnakeCase {
            tokens.expiresIn = options.accessTokenLifetime
        } else {
            let end = options.now().addingTimeInterval(Double(options.accessTokenLifetime))
            tokens.expiresAt = end.formatted(.iso8601)
        }
        return tokens
    }

    private func tokenAnswer(_ tokens: Tokens, for user: User, session: UUID) throws -> BackendAnswer {
        var answer = try BackendAnswer.json(tokens, username: user.username, isSnakeCase: options.usesSnakeCase)
        answer.issuedGeneration = sessions[session]?.generation
        return answer
    }
}
