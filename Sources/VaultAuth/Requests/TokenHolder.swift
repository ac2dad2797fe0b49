internal import OpenIDConnect
internal import VaultStorage

/// Whoever is logged in at one moment: what is begun in one person's name does not go on in another's.
enum TokenHolder {
    case unstored(RefreshToken, auth: Auth)
    case open(Session)

    func accessToken(minimumValidity: Duration) async throws -> AccessToken {
        switch self {
        case .unstored(let token, let auth):
            try await auth.accessToken(of: token, forceRefresh: false, minimumValidity: minimumValidity)
        case .open(let session): try await session.accessToken(minimumValidity: minimumValidity)
        }
    }

    func accessToken(replacing refused: AccessToken) async throws -> AccessToken {
        switch self {
        case .unstored(let token, let auth): try await auth.accessToken(of: token, replacing: refused)
        case .open(let session): try await session.accessToken(replacing: refused)
        }
    }

    /// The key that the tokens are bound to.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid` when they are not.
    func requiredProofKey() async throws -> DPoPKey {
        guard let key = try await proofKey() else {
            throw VaultError(.configurationInvalid, "The access token is not bound to a key.")
        }
        return key
    }

    /// The key that the tokens are bound to; nil when they are not.
    func proofKey() async throws -> DPoPKey? {
        switch self {
        case .unstored(let token, _): try token.credential.dpopKey()
        case .open(let session): try await session.dpopKey()
        }
    }
}

extension Auth {
    /// - Parameter login: a login that is not stored yet; nil for the person who is logged in.
    func holder(_ login: RefreshToken? = nil) throws -> TokenHolder {
        if let login { return .unstored(login, auth: self) }
        return switch current.login {
        case .none: throw VaultError(.notLoggedIn, "Nobody is logged in.")
        case .unstored(let token): .unstored(token, auth: self)
        case .open(let session): .open(session)
        }
    }
}
