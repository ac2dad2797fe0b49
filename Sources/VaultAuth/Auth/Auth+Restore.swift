public import VaultCrypto
internal import VaultStorage
internal import VaultUnlock

extension Auth {
    /// Looks for a user's account, without a secret and without the network. The state is
    /// ``RestoredSession/State/absent``, ``RestoredSession/State/locked``, or the session that is already open. If the
    /// provider has refused the stored token for good, also in an earlier program, the state is
    /// ``RestoredSession/State/expired``: no secret helps.
    ///
    /// - Throws: ``VaultError`` with code `accountAmbiguous` (name one of ``VaultError/accounts``), `storeUnreadable`
    ///   (try again), or `storeCorrupt` (restore a backup).
    public func restoreSession(userID: String) async throws -> RestoredSession {
        do {
            let account = try await accounts.find(userID, issuer: issuerOfAccounts)
            guard let session, session.id == account.id else {
                return account.refusal.map { RestoredSession.expired($0) } ?? .locked(account)
            }
            if let refusal = session.refusal { return .expired(refusal) }
            return session.isConfirmed
                ? .verified(session)
                : .unverified(
                    session,
                    VaultError(
                        .identityProviderUnavailable, "The provider has not confirmed the account yet. Try again later."
                    ))
        } catch let error as VaultError where error.code == .accountNotFound {
            return .absent
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Opens an account with the password, and asks the provider or backend to confirm it.
    ///
    /// - Throws: ``VaultError`` as ``AuthProtocol/unlock(userID:password:)``, without `accountNotFound`. Also
    ///   `notLoggedIn` if it was locked meanwhile (log in again), and `tokenInvalid` if the provider's answer is not
    ///   valid.
    public func restoreSession(userID: String, password: borrowing SecretBytes) async throws -> RestoredSession {
        let session: Session
        do {
            let account = try await VaultError.converting { try await accounts.find(userID, issuer: issuerOfAccounts) }
            session = try await unlock(account, with: .password(password), isPending: true)
        } catch let error as VaultError where error.code == .accountNotFound {
            return .absent
        }
        do {
            _ = try await session.accessToken(forceRefresh: true)
            try await announce(session)
            return .verified(session)
        } catch let error as VaultError {
            switch error.code {
            case .refreshTokenExpired, .refreshInterrupted: return .expired(error)
            // The account was locked, unless there is no refresh token any more.
            case .notLoggedIn where session.refusal != nil: return .expired(error)
            case _ where error.isProviderOutage:
                // No server refused.
                try await announce(session)
                return .unverified(session, error)
            default:
                await session.lock(.loggedOut, reason: .refused, error: error)
                throw error
            }
        } catch {
            await session.lock(.loggedOut, reason: .refused)
            throw error
        }
    }

    /// - Throws: ``VaultError`` with code `notLoggedIn` if the session was locked meanwhile.
    private func announce(_ session: Session) async throws {
        guard session.isOpen else {
            throw VaultError(.notLoggedIn, "The account was locked while it was being restored. Log in again.")
        }
        session.begin()
        await session.announce()
    }
}
