internal import KeyServiceAPI
internal import VaultCrypto

/// The keeper of the owners' lists of devices. An access token proves who the owner is.
struct DeviceKeeper: Sendable {
    /// The refusal of a call.
    enum Refusal: Error, Hashable {
        /// The access token is not accepted.
        case invalidToken
        /// The owner has no such key.
        case noSuchDevice
    }

    let keeper: ObliviousKeeper
    let store: any KeyRecordOperations
    let verifier: any OwnerVerifier
    let masterKeys: MasterKeys

    /// Puts a key on its owner's list. The signature shows that the client has the vault key of the account.
    func claim(id: String, signature: [UInt8], token: String, deadline: ContinuousClock.Instant) async throws {
        let person = try await person(of: token)
        try await keeper.claim(
            id: id, signature: signature, for: person, owner: stored(person), deadline: deadline)
    }

    /// Returns the owner's live keys, the oldest first.
    func list(token: String) async throws -> DeviceList {
        let owner = try await owner(of: token)
        let keys = try await store.keys(ofOwner: owner)
        return DeviceList(
            devices: keys.filter { $0.oblivious?.state == .live }.map { key in
                DeviceList.Device(
                    id: key.record.id, label: key.oblivious?.label, createdAt: key.record.createdAt,
                    lastUsedAt: key.lastUsedAt, locked: key.lock != nil)
            })
    }

    /// Revokes one of the owner's keys for good.
    func revoke(id: String, token: String, deadline: ContinuousClock.Instant) async throws {
        let owner = try await owner(of: token)
        try await keeper.change(id: id, of: owner, deadline: deadline) { $0.end(.revoked) }
    }

    /// Changes the label of one of the owner's keys.
    func rename(id: String, label: [UInt8], token: String, deadline: ContinuousClock.Instant) async throws {
        let owner = try await owner(of: token)
        try await keeper.change(id: id, of: owner, deadline: deadline) { $0.label = label }
    }

    private func owner(of token: String) async throws -> [UInt8] { try stored(await person(of: token)) }

    private func stored(_ person: KeyOwner) throws -> [UInt8] { try person.hash(under: masterKeys.ownerKey().bytes) }

    private func person(of token: String) async throws -> KeyOwner {
        do {
            return try await verifier.owner(ofAccessToken: token)
        } catch let error as OwnerVerificationError {
            switch error {
            case .invalidToken: throw Refusal.invalidToken
            case .unavailable: throw KeyServiceServerError.busy
            }
        }
    }
}
