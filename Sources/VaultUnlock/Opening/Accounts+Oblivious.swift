internal import KeyServiceClient
internal import VaultBase
internal import VaultCrypto
internal import VaultHTTP
internal import VaultStorage

// Keyslots of protocol version 2, as far as they need the store and the settings.
extension Accounts {
    /// Returns the maker and opener of an account's keyslots of version 2.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid` if the program has only version 1.
    func oblivious(_ account: Account) throws -> ObliviousKeyslot {
        guard let service = try obliviousKeyService(account.keyServiceURL) else {
            throw VaultError(
                .configurationInvalid,
                "This way in needs protocol version 2 of the key service, which this program does not have.")
        }
        return ObliviousKeyslot(
            account: account, store: store, client: ObliviousClient(service: service, clock: clock, timer: timer),
            newClaims: newClaims, stopGuard: stopGuard)
    }

    /// Returns the maker of new keyslots; nil if the service has only version 1.
    ///
    /// A service that had version 2 once, and an account that has a keyslot of version 2, never get version 1 again: a
    /// thief in the network could otherwise hide version 2. A new account gets version 1 only if a setting asks for it.
    ///
    /// - Throws: `KeyServiceError`. ``VaultError`` with code `forbiddenByPolicy` if the policy requires version 2;
    ///   `configurationInvalid` for a new account.
    func obliviousMaker(_ account: Account) async throws -> ObliviousKeyslot? {
        guard try await hasOblivious(account) else { return nil }
        var oblivious = try oblivious(account)
        oblivious.trusted = try await trustedIdentities(of: account)
        oblivious.claim = try await requiredClaim(of: account)
        oblivious.presentVaultKey = presentVaultKey
        return oblivious
    }

    /// Whether new keyslots speak version 2.
    private func hasOblivious(_ account: Account) async throws -> Bool {
        let url = account.keyServiceURL
        let isKnown = account.keyslots.contains { $0.keyServiceProtocol == 2 }
        guard let service = try obliviousKeyService(url) else {
            if isKnown { _ = try oblivious(account) }
            try requireAllowed(keyServiceProtocol: 1)
            return false
        }
        guard !isKnown else { return true }
        let versions = ServiceVersions(store: store)
        if try await service.protocolVersions().contains(2) {
            try? await versions.note(url, isOblivious: true, at: clock.now)
        } else {
            guard (try? await versions.isOblivious(url)) == true else {
                try requireAllowed(keyServiceProtocol: 1)
                if account.keyslots.isEmpty { try requireMayBeNew(keyServiceProtocol: 1, at: url) }
                return false
            }
        }
        return true
    }

    /// Refuses a key service whose protocol is too old for a new account.
    func checkKeyServiceProtocol() async throws {
        guard newAccountProtocol > 1, let service = try obliviousKeyService(keyServiceURL),
            (try? await ServiceVersions(store: store).isOblivious(keyServiceURL)) != true,
            try await !service.protocolVersions().contains(2)
        else { return }
        try requireMayBeNew(keyServiceProtocol: 1, at: keyServiceURL)
    }

    /// Whether a keyslot of version 1 should be made again with version 2. Asks the service at most once a day.
    func shouldUpgrade(_ slot: Keyslot, of account: Account) async -> Bool {
        guard slot.keyServiceProtocol == 1, let service = try? obliviousKeyService(account.keyServiceURL) else {
            return false
        }
        let (versions, url) = (ServiceVersions(store: store), account.keyServiceURL)
        do {
            if let known = try await versions.present(url, at: clock.now) { return known }
            let isOblivious = (try? await service.protocolVersions().contains(2)) ?? false
            try await versions.note(url, isOblivious: isOblivious, at: clock.now)
            return isOblivious
        } catch {
            return false
        }
    }

    /// Opens a keyslot of version 2 with one try, and stores the confirmation of this try.
    func openOblivious(
        _ slot: Keyslot, of account: Account, stretched: SharedSecret, spendsLastGuess: Bool
    ) async throws -> OpenedKeyslot {
        let oblivious = try oblivious(account)
        do {
            // If another program holds the store, each later note would wait just as long.
            _ = try await OwnTries(store: store, account: account.id).waiting()
        } catch let error as StoreError where error.code == .busy {
            throw error
        } catch {}
        await sendConfirmationsInTime(of: account)
        return try await withTurn(of: account.id) { hasTurn in
            @Sendable func open() async throws -> OpenedKeyslot {
                try await oblivious.open(
                    slot, stretched: stretched, hasTurn: hasTurn, spendsLastGuess: spendsLastGuess)
            }
            do {
                return try await open()
            } catch let error as KeyServiceError where error.code == .noSuchKey && slot.kind == .recovery {
                // The request key of a recovery code is made from the code. So a wrong code cannot even ask.
                throw KeyServiceError(
                    .wrongSecret, "The recovery code is wrong, or its key is gone.", underlying: error)
            } catch let error as KeyServiceError where error.code == .keyLocked {
                let (isClosed, isLost) = await closeTries(at: slot, of: account, oblivious.client)
                do {
                    guard isClosed else { throw error }
                    return try await open()
                } catch let error as KeyServiceError where error.code == .keyLocked && isLost {
                    throw KeyServiceError(
                        .unavailable,
                        "The key service refused this login, because messages of this machine about earlier logins were lost. If it happens again, use another network.",
                        underlying: error)
                }
            }
        }
    }

    /// Runs the tries of one account one after the other, in all programs. A program sends its own open try again, which
    /// is free only as long as no other program confirms it meanwhile.
    ///
    /// If the lock cannot be had, `body` runs all the same, without the turn: nobody is kept out for that.
    func withTurn<R: Sendable>(
        of id: AccountID, _ body: @Sendable (_ hasTurn: Bool) async throws -> R
    ) async throws -> R {
        let turn = AccountID(issuer: "tries at " + id.issuer, subject: id.subject)
        let hasBegun = Lock(false)
        do {
            // No error leaves the closure: after an error, some stores keep the file of the lock.
            let result: Result<R, any Error> = try await store.withLock(on: turn) { _ in
                hasBegun.withLock { $0 = true }
                do { return .success(try await body(true)) } catch { return .failure(error) }
            }
            return try result.get()
        } catch is StoreError where !hasBegun.withLock({ $0 }) {
            return try await body(false)
        }
    }
}
