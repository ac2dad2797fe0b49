package import KeyServiceAPI
internal import VaultCrypto

/// The keeper of the owners' lists of devices. An access token proves who the owner is.
package struct DeviceKeeper: Sendable {
    /// The refusal of a call.
    package enum Refusal: Error, Hashable {
        /// The access token is not accepted.
        case invalidToken
        /// The proof of the key that the access token is bound to is not accepted.
        case invalidProof
        /// The owner has no such key.
        case noSuchDevice
        /// The access token does not say that the owner signed in at the provider in the last 5 minutes.
        case signInTooOld
        /// The owner has unlocked the key in the last 24 hours.
        case unlockedToday
        /// The key has had too many guesses in all. Only an operator can unlock it.
        case guessesSpent
    }

    /// The owner of an access token.
    package struct Owner: Sendable {
        let person: KeyOwner
        /// The form that the store keeps.
        let hash: [UInt8]
        /// The time of the last sign-in at the provider, in seconds since 1970; nil if it is not known.
        let authenticatedAt: Int64?
    }

    /// The most access tokens that are checked at once. The provider may be slow, and logins must not wait for it.
    private static let maxChecks = 16
    /// The longest time between a sign-in at the provider and an unlock, in seconds.
    private static let maxSignInAge: Int64 = 300
    /// The most seconds that the provider's clock may be ahead.
    private static let maxClockError: Int64 = 120

    let keeper: OPRFKeeper
    let store: any KeyRecordOperations
    let verifier: any OwnerVerifier
    let masterKeys: MasterKeys
    /// Whether owners may unlock their keys after a fresh sign-in.
    package let mayUnlock: Bool
    private let checks = RequestPermits(maxChecks)

    package init(
        keeper: OPRFKeeper, store: any KeyRecordOperations, verifier: any OwnerVerifier, masterKeys: MasterKeys,
        mayUnlock: Bool = false
    ) {
        self.keeper = keeper
        self.store = store
        self.verifier = verifier
        self.masterKeys = masterKeys
        self.mayUnlock = mayUnlock
    }

    /// Finds out whom an access token speaks for.
    ///
    /// - Parameter deadline: after this time nobody waits for the answer.
    /// - Throws: ``Refusal``; `RequestPermits.Full`; ``KeyServiceServerError`` with code `busy`.
    package func owner(of token: PresentedToken, deadline: ContinuousClock.Instant) async throws -> Owner {
        let found = try await checks.withPermit {
            try await withThrowingTaskGroup(of: VerifiedOwner.self) { group in
                group.addTask { try await verified(token) }
                group.addTask {
                    try await Task.sleep(until: deadline, clock: .continuous)
                    throw KeyServiceServerError.busy
                }
                defer { group.cancelAll() }
                guard let first = try await group.next() else { throw KeyServiceServerError.busy }
                return first
            }
        }
        return Owner(
            person: found.person, hash: try found.person.hash(under: masterKeys.ownerKey().bytes),
            authenticatedAt: found.authenticatedAt)
    }

    /// Puts a key on its owner's list. The signature shows that the client has the vault key of the account.
    package func claim(id: String, signature: [UInt8], for owner: Owner, deadline: ContinuousClock.Instant) async throws
    {
        try await keeper.claim(
            id: id, signature: signature, for: owner.person, owner: owner.hash, deadline: deadline)
    }

    /// Returns the owner's live keys, the oldest first.
    package func list(of owner: Owner) async throws -> DeviceList {
        let keys = try await store.keys(ofOwner: owner.hash).keys.map(\.key)
        let limits = try await store.state().limits
        return DeviceList(
            devices: keys.map { key in
                DeviceList.Device(
                    id: key.record.id, label: key.label, createdAt: key.record.createdAt,
                    lastUsedAt: key.lastUsedAt, locked: key.remaining(limits) == 0)
            })
    }

    /// Revokes one of the owner's keys for good.
    package func revoke(id: String, of owner: Owner, deadline: ContinuousClock.Instant) async throws {
        try await keeper.change(id: id, of: owner.hash, deadline: deadline) { key, _ in key.end(.revoked) }
    }

    /// Changes the label of one of the owner's keys.
    package func rename(id: String, label: [UInt8], of owner: Owner, deadline: ContinuousClock.Instant) async throws {
        try await keeper.change(id: id, of: owner.hash, deadline: deadline) { key, _ in key.label = label }
    }

    /// Gives a locked key of the owner its guesses back, if the owner has just signed in at the provider.
    ///
    /// - Returns: false if the key is not locked.
    /// - Throws: ``Refusal``.
    package func unlock(id: String, of owner: Owner, deadline: ContinuousClock.Instant) async throws -> Bool {
        let now = keeper.now()
        guard let signedInAt = owner.authenticatedAt,
            (now - Self.maxSignInAge...now + Self.maxClockError).contains(signedInAt)
        else { throw Refusal.signInTooOld }
        return try await keeper.change(id: id, of: owner.hash, deadline: deadline) { key, limits in
            try key.unlock(byOwnerAt: now, limits)
        }
    }

    private func verified(_ token: PresentedToken) async throws -> VerifiedOwner {
        do {
            return try await verifier.owner(of: token)
        } catch let error as OwnerVerificationError {
            switch error {
            case .invalidToken: throw Refusal.invalidToken
            case .invalidProof: throw Refusal.invalidProof
            case .unavailable: throw KeyServiceServerError.busy
            }
        }
    }
}
