package import KeyServiceClient
internal import VaultBase
package import VaultStorage

/// Gets access tokens for one audience from the issuer of an account, and proofs for bound ones.
///
/// A conformer must not assume that the issuer obeys the audience. The caller checks the token. It must store a renewed
/// refresh token as any other renewal does.
package protocol OwnerTokenSource: Sendable {
    /// Returns a new access token of a stored account for one audience.
    func accessToken(of id: AccountID, for audience: String, vaultKey: VaultKey) async throws -> AccessToken
    /// Returns the maker of proofs for a token, with the stored key of the account's tokens (RFC 9449).
    func proof(of token: String, account id: AccountID, vaultKey: VaultKey) async throws -> OwnerToken.Proof
    /// Returns the maker of proofs for a token, with a key that is not stored yet.
    func proof(of token: String, with key: [UInt8]) throws -> OwnerToken.Proof
}

// The access tokens that a key service gets.
extension Accounts {
    /// Returns an access token that may go to the account's key service.
    ///
    /// - Parameters:
    ///   - token: the token at hand. It is used if it is only for this key service.
    ///   - vaultKey: the account's vault key.
    /// - Throws: ``VaultError`` with code `configurationInvalid` if the issuer makes no tokens for one service. Then no
    ///   token was sent.
    func ownerToken(of account: Account, _ token: AccessToken, _ vaultKey: VaultKey) async throws -> OwnerToken {
        let present = presentVaultKey ?? vaultKey
        var token = token
        if let audience = audience(for: account), !isFit(token, for: account) {
            guard let ownerTokens else { throw Self.notRestricted(account.displayName, audience, token) }
            token = try await ownerTokens.accessToken(of: account.id, for: audience, vaultKey: present)
            do { try requireFit(token, for: account) } catch {
                // With this renewal, some providers have ended the token before it, which is stored.
                try? await store.apply([.removeItem(.accessToken)], to: account.id)
                throw error
            }
        }
        guard token.isBound else { return OwnerToken(token.value) }
        guard let ownerTokens else {
            throw VaultError(
                .configurationInvalid, "The access token of \(account.displayName) is bound to a key (DPoP).")
        }
        let proof =
            if let proofKeyAtHand {
                try ownerTokens.proof(of: token.value, with: proofKeyAtHand)
            } else {
                try await ownerTokens.proof(of: token.value, account: account.id, vaultKey: present)
            }
        return OwnerToken(token.value, proof: proof)
    }

    /// Whether a token may go to the account's key service as it is.
    func isFit(_ token: AccessToken, for account: Account) -> Bool {
        guard let audience = audience(for: account) else { return true }
        return Self.isFit(token, audience, issuer: account.id.issuer, clientID: account.clientID)
    }

    /// Returns the audience for tokens of a registration that has to claim its new key, before anything is stored; nil
    /// if the token of the sign-in may go to the key service, or no token has to.
    package func audienceForRegistration() async throws -> String? {
        guard listsDevices, !keyServiceURL.isEmpty, let audience = keyServiceAudience.name(of: keyServiceURL),
            let lists = try services.deviceLists(keyServiceURL), (try? await lists.claimTime()) != nil
        else { return nil }
        return audience
    }

    /// Checks the token of a registration for ``audienceForRegistration()``.
    ///
    /// - Throws: as ``ownerToken(of:_:_:)``.
    package func requireFit(_ token: AccessToken, _ audience: String, of login: SignInResult) throws {
        guard Self.isFit(token, audience, issuer: login.account.issuer, clientID: login.clientID) else {
            throw Self.notRestricted(login.account.subject, audience, token)
        }
    }

    private func audience(for account: Account) -> String? { keyServiceAudience.name(of: account.keyServiceURL) }

    private func requireFit(_ token: AccessToken, for account: Account) throws {
        guard let audience = audience(for: account), !isFit(token, for: account) else { return }
        throw Self.notRestricted(account.displayName, audience, token)
    }

    /// Whether a token is for one service alone. Many providers also name themselves or the client as an audience.
    private static func isFit(_ token: AccessToken, _ audience: String, issuer: String, clientID: String) -> Bool {
        guard let audiences = audiences(of: token), audiences.contains(audience) else { return false }
        let userinfo = (issuer.hasSuffix("/") ? issuer : issuer + "/") + "userinfo"
        return audiences.allSatisfy { [audience, clientID, issuer, userinfo].contains($0) }
    }

    /// Returns the audiences that a signed token names; nil for an opaque token.
    private static func audiences(of token: AccessToken) -> [String]? {
        let parts = token.value.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let payload = Base64URL.decode(parts[1]), let claims = JSONValue(objectIn: payload),
            let audience = claims["aud"]
        else { return nil }
        return audience.string.map { [$0] } ?? audience.strings
    }

    /// The error for an issuer that makes no tokens for one service.
    package static func notRestricted(_ name: String, _ audience: String, _ token: AccessToken?) -> VaultError {
        let fact =
            switch token.map({ audiences(of: $0) }) {
            case nil: "refused to make one"
            case .some(nil): "made an opaque one"
            case .some(let audiences?): "made one for: \(audiences.joined(separator: ", "))"
            }
        return VaultError(
            .configurationInvalid,
            "The key service needs an access token that is only for \(audience), but the identity provider of \(name) \(fact). No token was sent, because somebody who runs the key service could use it at other services.",
            detail: .audienceNotRestricted, value: audience)
    }
}
