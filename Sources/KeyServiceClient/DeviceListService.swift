public import Foundation

/// The lists of devices at a key service with protocol version 2. An access token tells whose list is meant.
///
/// A conformer must not repeat a call by itself, and must not keep or log a token. It must not assume that the service
/// keeps lists. Any number of tasks may call it at once. It throws only ``KeyServiceError`` and `CancellationError`.
public protocol DeviceListService: Sendable {
    /// Asks whether the service keeps lists. No token is sent.
    func keepsLists() async throws -> Bool

    /// Asks for the time in which a new key must be claimed. No token is sent.
    ///
    /// - Returns: nil if a key that nobody claims stays.
    func claimTime() async throws -> Duration?

    /// Asks whether an owner may unlock a key after a fresh sign-in. No token is sent.
    func allowsOwnerUnlock() async throws -> Bool

    /// Returns the owner's live keys, the oldest first.
    ///
    /// - Parameter accessToken: the owner's access token.
    func listedKeys(accessToken: OwnerToken) async throws -> [ListedKey]

    /// Puts a key on its owner's list. The same call again does no harm.
    ///
    /// - Parameters:
    ///   - id: the id of the key.
    ///   - signature: the signature of the end key over the id, the issuer and the subject, 64 bytes.
    ///   - accessToken: the owner's access token.
    func claimKey(id: String, signature: [UInt8], accessToken: OwnerToken) async throws

    /// Gives one of the owner's keys another label.
    ///
    /// - Parameters:
    ///   - id: the id of the key.
    ///   - label: the name of the device, sealed by the client, at most 512 bytes.
    ///   - accessToken: the owner's access token.
    func renameKey(id: String, label: [UInt8], accessToken: OwnerToken) async throws

    /// Ends one of the owner's keys for good.
    ///
    /// - Parameters:
    ///   - id: the id of the key.
    ///   - accessToken: the owner's access token.
    func revokeKey(id: String, accessToken: OwnerToken) async throws

    /// Gives one of the owner's locked keys its guesses back. The same call again does no harm.
    ///
    /// - Parameters:
    ///   - id: the id of the key.
    ///   - accessToken: an access token of a sign-in of the last 5 minutes.
    func unlockKey(id: String, accessToken: OwnerToken) async throws
}

/// A key on its owner's list.
public struct ListedKey: Sendable, Hashable {
    /// The id of the key.
    public let id: String
    /// The label, sealed by the client that made the key; nil for none.
    public let label: [UInt8]?
    /// The time when the key was made, by the service's clock.
    public let createdAt: Date
    /// The time when the key last opened its account, by the service's clock; nil for never.
    public let lastUsedAt: Date?
    /// Whether no guesses are left.
    public let isLocked: Bool

    /// Makes an entry of a list, for a ``DeviceListService`` of your own. See the properties.
    public init(id: String, label: [UInt8]?, createdAt: Date, lastUsedAt: Date?, isLocked: Bool) {
        self.id = id
        self.label = label
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.isLocked = isLocked
    }
}
