internal import OpenIDConnect
internal import VaultStorage

/// A backend that says whose access token it is, as an OpenID provider's UserInfo endpoint does.
protocol PersonSource: Sendable {
    func person(accessToken: String) async throws -> BackendUser
}

extension BrowserBackend: PersonSource {
    func person(accessToken: String) async throws -> BackendUser {
        try BackendUser(try await connection.get(layout.me, token: accessToken), layout.user)
    }
}

extension PasswordBackend: PersonSource {
    func person(accessToken: String) async throws -> BackendUser { try await user(of: accessToken) }
}

extension ServerIssuer: PersonSource {
    func person(accessToken: String) async throws -> BackendUser {
        try BackendUser(try await server.connection.get(server.layout.profile, token: accessToken), server.layout.user)
    }
}

extension UserInfo {
    init(_ user: BackendUser) {
        self.init(
            subject: user.id, email: user.identity.email, preferredUsername: user.identity.preferredUsername,
            name: user.identity.name, claimsJSON: user.identity.claimsJSON)
    }
}
