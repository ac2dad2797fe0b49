internal import FoundationEssentials

/// Sign-up, forgotten passwords, and the sessions of signed-in people.
extension BackendServer {
    private struct SignUpRequest: Decodable {
        var email: String
        var password: String
        var fullName: String?
        var confirmPassword: String?
    }

    private struct AddressRequest: Decodable {
        var email: String
    }

    private struct SessionList: Encodable {
        struct Entry: Encodable {
            var id: String
            var name: String
            var createdAt: String
            var current: Bool
        }

        var sessions: [Entry]
    }

    /// Makes an account for a person, who can log in at once.
    func signUp(_ call: BackendCall) throws -> BackendAnswer {
        let body = try call.body(SignUpRequest.self, isSnakeCase: options.usesSnakeCase)
        guard body.email.contains("@"), body.password.count >= 6 else {
            throw BackendError.invalidRequest("An e-mail address and a password of 6 characters are needed.")
        }
        guard !options.wantsConfirmation || body.confirmPassword == body.password else {
            throw BackendError.invalidRequest("The two passwords are not the same.")
        }
        guard !users.contains(where: { $0.email == body.email }) else {
            throw BackendError("There is an account with this address.", status: 409, outcome: "taken")
        }
        users.append(
            User(username: body.email, password: body.password, name: body.fullName ?? "", email: body.email))
        return BackendAnswer(status: 201, username: body.email)
    }

    /// Gives the same answer for unknown addresses.
    func forgotPassword(_ call: BackendCall) throws -> BackendAnswer {
        let body = try call.body(AddressRequest.self)
        return BackendAnswer(status: 202, username: users.first { $0.email == body.email }?.username)
    }

    func listSessions(_ call: BackendCall) throws -> BackendAnswer {
        let (current, username) = try session(of: call)
        let entries = sessions.filter { $0.value.username == username }.sorted { $0.value.order < $1.value.order }.map {
            SessionList.Entry(
                id: $0.key.uuidString.lowercased(), name: $0.value.clientID == nil ? "A program" : "An OAuth client",
                createdAt: $0.value.createdAt.formatted(.iso8601), current: $0.key == current)
        }
        return try .json(SessionList(sessions: entries), username: username)
    }

    func endSession(_ call: BackendCall) throws -> BackendAnswer {
        let username = try session(of: call).username
        guard let id = call.path.split(separator: "/").last.flatMap({ UUID(uuidString: String($0)) }),
            sessions[id]?.username == username
        else { throw BackendError("There is no such session.", status: 404, outcome: "not_found") }
        end(id)
        return BackendAnswer(status: 204, username: username)
    }

    /// Ends the access tokens of a session. Its refresh token stays valid.
    func localLogout(_ call: BackendCall) throws -> BackendAnswer {
        let (id, username) = try session(of: call)
        accessTokens = accessTokens.filter { $0.value.session != id }
        return BackendAnswer(status: 204, username: username)
    }

    func session(of call: BackendCall) throws(BackendError) -> (id: UUID, username: String) {
        let user = try user(bearing: call.bearer)
        guard let token = call.bearer, let id = accessTokens[digest(token)]?.session else { throw .invalidToken }
        return (id, user.username)
    }
}
