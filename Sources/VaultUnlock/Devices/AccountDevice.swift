public import Foundation
internal import KeyServiceClient
public import VaultStorage

/// A machine that an account's owner uses, as the key service lists it.
///
/// The key service knows keys only. The keys with the same tag are shown as one device.
public struct AccountDevice: Sendable, Hashable, Identifiable {
    /// A key of the device. Each unlock method of protocol version 2 has one.
    public struct Key: Sendable, Hashable {
        /// The id of the key at the key service.
        public let id: String
        /// The kind of unlock method that the key belongs to; nil if the device was registered separately.
        public let kind: Keyslot.Kind?
        /// The time when the key was made, by the service's clock.
        public let createdAt: Date
        /// The time when the key last opened the account, by the service's clock; nil for never.
        public let lastUsedAt: Date?
        /// Whether no guesses are left.
        public let isLocked: Bool

        /// Makes a key for an app's own tests. The parameters are the properties.
        public init(
            id: String, kind: Keyslot.Kind? = nil, createdAt: Date, lastUsedAt: Date? = nil, isLocked: Bool = false
        ) {
            self.id = id
            self.kind = kind
            self.createdAt = createdAt
            self.lastUsedAt = lastUsedAt
            self.isLocked = isLocked
        }
    }

    /// The tag of the device: 32 hexadecimal digits.
    public let id: String
    /// The name of the device; nil if this machine cannot read it. A device that was registered separately seals its
    /// name with a vault key of its own. To name such a device from here, rename it.
    public let name: String?
    /// Whether it is the machine of this store.
    public let isThisDevice: Bool
    /// The keys of the device, the oldest first. There is at least one.
    public let keys: [Key]

    /// The time when the oldest key was made.
    public var createdAt: Date { keys.map(\.createdAt).min() ?? .distantPast }
    /// The time when a key last opened the account; nil for never.
    public var lastUsedAt: Date? { keys.compactMap(\.lastUsedAt).max() }
    /// Whether no key has guesses left.
    public var isLocked: Bool { keys.allSatisfy(\.isLocked) }

    /// Makes a device for an app's own tests. The parameters are the properties.
    public init(id: String, name: String? = nil, isThisDevice: Bool = false, keys: [Key]) {
        self.id = id
        self.name = name
        self.isThisDevice = isThisDevice
        self.keys = keys
    }
}

/// A key on the list, with the data that this store can add.
struct IdentifiedKey {
    let key: ListedKey
    /// The tag of its device, in hexadecimal.
    let device: String
    let name: String?
    let kind: Keyslot.Kind?
    /// Whether a keyslot of this store has the key.
    var isOwn = false
}

extension AccountDevice {
    /// Puts the keys of each device together, the oldest device first.
    static func devices(of keys: [IdentifiedKey], own: String, ownName: String) -> [AccountDevice] {
        // Anybody with an access token can write any tag. So a key whose label this machine cannot read is never shown
        // as a part of a device that has a name here.
        let named = Set(keys.filter { $0.name != nil }.map(\.device)).union([own])
        let apart = keys.map { key in
            guard key.name == nil, !key.isOwn, named.contains(key.device) else { return key }
            return IdentifiedKey(
                key: key.key, device: key.key.id.replacing("-", with: ""), name: nil, kind: key.kind, isOwn: false)
        }
        let sorted = apart.sorted { $0.key.createdAt < $1.key.createdAt }
        var ids: [String] = []
        for key in sorted where !ids.contains(key.device) { ids.append(key.device) }
        return ids.map { id in
            let mine = sorted.filter { $0.device == id }
            return AccountDevice(
                id: id, name: id == own ? ownName : mine.last { $0.name != nil }?.name, isThisDevice: id == own,
                keys: mine.map {
                    Key(
                        id: $0.key.id, kind: $0.kind, createdAt: $0.key.createdAt, lastUsedAt: $0.key.lastUsedAt,
                        isLocked: $0.key.isLocked)
                })
        }
    }
}
