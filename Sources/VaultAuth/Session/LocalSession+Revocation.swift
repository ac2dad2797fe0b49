internal import VaultBase
internal import VaultStorage
internal import VaultUnlock

// The owner can revoke this device while the account is open. Then the session must end.
extension LocalSession {
    /// The time for which tokens are renewed without a proof that this device was not revoked, in hours.
    private var limit: Int { accounts.policy.revocationCheckHours ?? 12 }

    private var isOverdue: Bool {
        let (now, limit) = (accounts.steady.now(), Duration.seconds(limit * 3600))
        return proofs.withLock { $0.isOverdue(at: now, limit) }
    }

    /// Asks the key service, before the next token, whether the owner revoked this device.
    ///
    /// A login that the key service has just answered needs no second answer. If the key service was silent a short time
    /// ago, the question runs beside the token request. Otherwise each renewal would wait for it.
    ///
    /// - Throws: ``VaultError`` with code `deviceRevoked`.
    func requireNotRevoked() async throws {
        let now = accounts.steady.now()
        let (isFresh, isSilent) = proofs.withLock { ($0.isFresh(at: now), $0.isSilent(at: now)) }
        guard account.session?.mayBeRevoked ?? false || !isFresh else { return }
        guard !isOverdue, isSilent else { return try await askWhetherRevoked() }
        let isAsking = proofs.withLock { proofs in
            defer { proofs.isAsking = true }
            return proofs.isAsking
        }
        guard !isAsking else { return }
        Task {
            do { try await askWhetherRevoked() } catch { _ = await account.session?.failed(error) }
            proofs.withLock { $0.isAsking = false }
        }
    }

    private func askWhetherRevoked() async throws {
        let answer = try await accounts.requireNotRevoked(id, needsProof: isOverdue)
        let now = accounts.steady.now()
        proofs.withLock { proofs in
            switch answer {
            case .live(isProven: true), .locked: proofs.noteProof(at: now)
            case .live: proofs.noteAnswer()
            case .revoked, .unproven, .ended, .none: proofs.noteSilence(at: now)
            }
        }
    }

    /// Locks the session if nobody has proven for too long that this device was not revoked. It comes after the token
    /// request: without the network there is no token to hand out, and the session goes on.
    ///
    /// - Throws: ``VaultError`` with code `notLoggedIn`.
    func requireRecentProof() async throws {
        guard isOverdue else { return }
        let error = VaultError(
            .notLoggedIn,
            "For \(limit == 1 ? "1 hour" : "\(limit) hours") the key service has not said that this device was not revoked. The session was locked. Log in again."
        )
        await account.session?.end(.locked, .revocationUnknown, because: error)
        throw error
    }
}
