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
    }

    private struct RefreshRequest: Decodable {
        var refreshToken: String
    }

    private struct Tokens: Encodable {
        var accessToken: String
        var tokenType = "Bearer"
        var expiresIn: Int?
        var refreshToken: String
    }

    /// Exchanges e-mail address and password for tokens.
    func login(_ call: BackendCall) throws -> BackendAnswer {
        let body = try call.body(LoginRequest.self)
        guard !body.email.isEmpty, !body.password.isEmpty else {
            throw BackendError.invalidRequest("E-mail address and password are needed.")
        }
        var known = failures[body.email] ?? Failures()
        let now = options.now()
        if let end = known.lockedUntil {
            guard end <= now else {
                var error = BackendError("Too many attempts. Try again later.", status: 429, outcome: "locked")
                error.retryAfter = max(1, Int(end.timeIntervalSince(now).rounded(.up)))
                throw error
            }
            known = Failures()
        }
        guard let user = users.first(where: { $0.email == body.email }), user.password == body.password else {
            known.count += 1
            if known.count >= options.maximumFailures {
                known.lockedUntil = now.addingTimeInterval(Double(options.lockDuration))
            }
            failures[body.email] = known
            throw BackendError(
                "The e-mail address or the password is wrong.", status: 401,
                outcome: BackendRequest.Outcome.wrongPassword.rawValue)
        }
        failures[body.email] = nil
        let session = newSession(of: user.username)
        return try tokens(for: user, session: session)
    }

    /// Exchanges a refresh token for new tokens.
    func refresh(_ call: BackendCall) throws -> BackendAnswer {
        let session = try useRefreshToken(call.body(RefreshRequest.self).refreshToken, clientID: nil)
        guard let known = sessions[session], let user = users.first(where: { $0.username == known.username })
        else { throw BackendError.invalidToken }
        var answer = try tokens(for: user, session: session)
        answer.presentedGeneration = known.generation - 1
        return answer
    }

    /// Ends the session of the presented access token or refresh token.
    func logout(_ call: BackendCall) throws -> BackendAnswer {
        var found: UUID?
        if let token = call.bearer { found = accessTokens[digest(token)]?.session }
        if found == nil, let text = (try? call.body(RefreshRequest.self))?.refreshToken {
            found = refreshTokens[digest(text)]?.session
        }
        guard let found, let session = sessions[found] else { throw BackendError.invalidToken }
        end(found)
        return BackendAnswer(status: 204, username: session.username)
    }

    private func tokens(for user: User, session: UUID) throws -> BackendAnswer {
        let access = try jsonWebToken(for: user)
        let refresh = UUID().uuidString.lowercased()
        newAccessToken(access, session: session, lifetime: options.accessTokenLifetime)
        newRefreshToken(refresh, session: session)
        var answer = try BackendAnswer.json(
            Tokens(
                accessToken: access, expiresIn: options.announcesLifetime ? options.accessTokenLifetime : nil,
                refreshToken: refresh),
            username: user.username)
        answer.issuedGeneration = sessions[session]?.generation
        return answer
    }
}
