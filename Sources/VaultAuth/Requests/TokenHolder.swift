internal import OpenIDConnect
internal import VaultStorage

/// The person who is logged in at one moment. Work that begins for one person never goes on for another.
enum TokenHolder {
    case unstored(SignInResult, auth: Auth)
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

    /// Returns the key that the tokens are bound to.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid` if they are not bound.
    func requiredProofKey() async throws -> DPoPKey {
        guard let key = try await proofKey() else {
            throw VaultError(.configurationInvalid, "The access token is not bound to a key. Send it without a proof.")
        }
        return key
    }

    /// Returns the key that the tokens are bound to; nil if they are not bound.
    func proofKey() async throws -> DPoPKey? {
        switch self {
        case .unstored(let token, _): try token.credential.dpopKey()
        case .open(let session): try await session.dpopKey()
        }
    }
}

extension Auth {
    /// - Parameter login: a login that is not stored yet; nil for the person who is logged in.
    func holder(_ login: SignInResult? = nil) throws -> TokenHolder {
        if let login { return .unstored(login, auth: self) }
        return switch current.login {
        case .none: throw VaultError(.notLoggedIn, "Nobody is logged in. Log in first.")
        case .unstored(let token): .unstored(token, auth: self)
        case .open(let session): .open(session)
        }
    }
}
