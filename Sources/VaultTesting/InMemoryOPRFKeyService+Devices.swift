internal import Foundation
public import KeyServiceClient
internal import VaultBase
internal import VaultStorage

// The lists of devices. An access token speaks for the account that `accessTokenOwner` returns.
extension InMemoryOPRFKeyService: DeviceListService {
    /// Tells whether it keeps lists: see ``accessTokenOwner``.
    ///
    /// - Throws: ``KeyServiceError`` with code `unavailable` while ``isReachable`` is false.
    public func keepsLists() async throws -> Bool {
        try state.withLock { state in
            try Self.begin(.versions, &state)
            return state.owner != nil
        }
    }

    /// Answers a day if ``endsUnclaimedKeys`` is true.
    ///
    /// - Throws: ``KeyServiceError`` with code `unavailable` while ``isReachable`` is false.
    public func claimTime() async throws -> Duration? {
        try state.withLock { state in
            // Nothing is noted: a service that does not end unclaimed keys is asked as often.
            guard state.isReachable else { throw Self.outage }
            return Self.claimTime(state).map { .seconds($0) }
        }
    }

    /// Returns the live keys of the owner.
    ///
    /// - Throws: ``KeyServiceError``: `unavailable`, `noDeviceLists`, `invalidToken`.
    public func listedKeys(accessToken: OwnerToken) async throws -> [ListedKey] {
        try withOwner(accessToken, .listDevices) { owner, state in
            state.records.filter { $0.value.owner == owner && $0.value.condition == .live }.map { id, record in
                ListedKey(
                    id: id, label: record.label, createdAt: record.createdAt, lastUsedAt: record.lastUsedAt,
                    isLocked: record.open.count >= maxGuesses)
            }.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
        }
    }

    /// Puts a key on its owner's list.
    ///
    /// - Throws: ``KeyServiceError``: `noSuchKey` for a wrong signature, `ownedByAnother`, and those of
    ///   ``listedKeys(accessToken:)``.
    public func claimKey(id: String, signature: [UInt8], accessToken: OwnerToken) async throws {
        try withOwner(accessToken, .claim(id: id)) { owner, state in
            guard let record = state.records[id],
                OPRFDerivation.claims(
                    id, signature, issuer: owner.issuer, subject: owner.subject, by: record.creation.endKey)
            else { throw Self.unknown }
            guard record.owner ?? owner == owner else {
                throw KeyServiceError(.ownedByAnother, "The key is on the list of another person.")
            }
            state.records[id]?.owner = owner
        }
    }

    /// Gives a key another label.
    ///
    /// - Throws: ``KeyServiceError``: `noSuchDevice`, and those of ``listedKeys(accessToken:)``.
    public func renameKey(id: String, label: [UInt8], accessToken: OwnerToken) async throws {
        try withOwner(accessToken, .renameDevice(id: id)) { owner, state in
            try Self.requireOwned(id, by: owner, state)
            state.records[id]?.label = label
        }
    }

    /// Revokes a key.
    ///
    /// - Throws: ``KeyServiceError``: `noSuchDevice`, and those of ``listedKeys(accessToken:)``.
    public func revokeKey(id: String, accessToken: OwnerToken) async throws {
        try withOwner(accessToken, .revokeDevice(id: id)) { owner, state in
            try Self.requireOwned(id, by: owner, state)
            state.records[id]?.condition = .revoked
            state.records[id]?.open = []
        }
    }

    /// Tells whether owners may unlock keys: see ``letsOwnersUnlock``.
    ///
    /// - Throws: ``KeyServiceError`` with code `unavailable` while ``isReachable`` is false.
    public func allowsOwnerUnlock() async throws -> Bool {
        try state.withLock { state in
            try Self.begin(.versions, &state)
            return state.owner != nil && state.allowsOwnerUnlock
        }
    }

    /// Unlocks a key that is locked.
    ///
    /// - Throws: ``KeyServiceError``: `noSuchDevice`, `unlockedToday`, and those of ``listedKeys(accessToken:)``.
    public func unlockKey(id: String, accessToken: OwnerToken) async throws {
        try withOwner(accessToken, .unlockDevice(id: id)) { owner, state in
            try Self.requireOwned(id, by: owner, state)
            guard state.allowsOwnerUnlock else {
                throw KeyServiceError(.noDeviceLists, "The key service lets no owner unlock a key.")
            }
            guard let record = state.records[id], record.open.count >= maxGuesses else { return }
            let now = now(state)
            if let last = record.ownerUnlockedAt, now.timeIntervalSince(last) < 86_400 {
                throw KeyServiceError(.unlockedToday, "The key was unlocked by a sign-in in the last 24 hours.")
            }
            state.records[id]?.open = []
            state.records[id]?.ownerUnlockedAt = now
        }
    }

    private func withOwner<R: Sendable>(
        _ accessToken: OwnerToken, _ call: Call, _ body: (AccountID, inout State) throws -> R
    ) throws -> R {
        try state.withLock { state in
            try Self.begin(call, &state)
            guard let owner = state.owner else {
                throw KeyServiceError(.noDeviceLists, "The key service keeps no lists of devices.")
            }
            guard let owner = owner(accessToken.value) else {
                throw KeyServiceError(.invalidToken, "The key service does not accept the access token.")
            }
            return try body(owner, &state)
        }
    }

    private static func requireOwned(_ id: String, by owner: AccountID, _ state: State) throws {
        guard let record = state.records[id], record.owner == owner, record.condition == .live else {
            throw KeyServiceError(.noSuchDevice, "The list has no such key.")
        }
    }
}
