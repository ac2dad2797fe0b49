public import VaultCrypto
public import VaultStorage

/// What is left of a login after the program was started again.
public enum RestoredSession: Sendable {
    /// There is no such account: sign in and register it.
    case absent
    /// The account is there, and its secret opens it: ask for the password.
    case locked(Account)
    /// The account is open, and the provider still takes it.
    case verified(Session)
    /// The account is open, and the provider cannot be asked right now. Nobody is logged out by that: the session goes on,
    /// and its next ``Session/accessToken(forceRefresh:minimumValidity:)`` asks again.
    case unverified(Session, VaultError)
    /// The provider does not take the account any more: sign in and register again.
    case expired(VaultError)
}

extension Auth {
    /// Finds out what there is for a user, without a secret and without the network: ``RestoredSession/absent``,
    /// ``RestoredSession/locked(_:)``, or the session that is open already.
    ///
    /// - Throws: ``VaultError``: `accountAmbiguous`, `storeUnreadable`, `storeCorrupt`.
    public func restoreSession(userID: String) async throws -> RestoredSession {
        do {
            let account = try await accounts.find(userID, issuer: issuerOfAccounts)
            if let session, session.id == account.id { return .verified(session) }
            return .locked(account)
        } catch let error as VaultError where error.code == .accountNotFound {
            return .absent
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Opens an account with the password, and has the provider (or backend) confirm it.
    ///
    /// - Throws: ``VaultError``: what ``unlock(userID:password:)`` throws but `accountNotFound`, and `tokenInvalid` when
    ///   the provider's answer is not to be trusted.
    public func restoreSession(userID: String, password: borrowing SecretBytes) async throws -> RestoredSession {
        let session: Session
        do {
            session = try await unlock(userID: userID, password: password)
        } catch let error as VaultError where error.code == .accountNotFound {
            return .absent
        }
        do {
            _ = try await session.accessToken(forceRefresh: true)
            return .verified(session)
        } catch let error as VaultError {
            switch error.code {
            case .refreshTokenExpired, .refreshInterrupted, .notLoggedIn: return .expired(error)
            case .identityProviderUnavailable, .identityProviderTimedOut, .identityProviderInterrupted,
                .identityProviderAnswerInvalid:
                return .unverified(session, error)
            default: throw error
            }
        }
    }
}
