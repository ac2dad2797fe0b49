/// The name of a sealed item within an account.
///
/// A name has 1 to 255 bytes, has no control characters, and does not begin with `vault/`. It can be written as a
/// literal: `session.items.get("notes")`.
public struct ItemName: RawRepresentable, Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// The name as text.
    public let rawValue: String
    private let isOfVault: Bool

    /// The name of an app's own item. Items whose names begin with `vault/` can only be read.
    public init(rawValue: String) {
        self.rawValue = rawValue
        isOfVault = false
    }

    /// Makes the name of an app's own item from a literal, like ``init(rawValue:)``.
    public init(stringLiteral name: String) { self.init(rawValue: name) }

    private init(ofVault name: String) {
        rawValue = name
        isOfVault = true
    }

    public var description: String { rawValue }

    public static func == (first: ItemName, second: ItemName) -> Bool { first.rawValue == second.rawValue }
    public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }

    /// The credential that is exchanged for access tokens, mostly a refresh token.
    public static let refreshToken = ItemName(ofVault: "vault/refresh-token")
    /// The last access token, with its expiry.
    public static let accessToken = ItemName(ofVault: "vault/access-token")
    /// The verified claims of the last ID token, as JSON.
    public static let idTokenClaims = ItemName(ofVault: "vault/id-token-claims")

    /// The last ID token as it was signed. The provider gets it as a hint at logout.
    public static let idToken = ItemName(ofVault: "vault/id-token")

    /// The highest time that was seen: see `SeenClock`.
    package static let seenClock = ItemName(ofVault: "vault/seen-clock")

    /// The name that the signature of a key's end is sealed under, in its keyslot. No item has it.
    package static func keyEnd(_ keyID: String) -> ItemName { ItemName(ofVault: keyEndPrefix + keyID) }

    package var isOfKeyEnd: Bool { rawValue.utf8.starts(with: Self.keyEndPrefix.utf8) }

    private static let keyEndPrefix = "vault/key-end/"

    /// The name that the label of a device's key is sealed under, at the key service. No item has it.
    ///
    /// - Parameter tag: the tag of the device in hexadecimal. The key service cannot move a label to another device.
    package static func deviceLabel(_ keyID: String, tag: String) -> ItemName {
        ItemName(ofVault: "\(deviceLabelPrefix)\(keyID)/\(tag)")
    }

    /// The address of the key service that has this device on its owner's list, because a person asked for the list here.
    /// The agent seals it like a label.
    package static let deviceList = ItemName(ofVault: deviceLabelPrefix + "list")

    /// The name with this text if it is one of ``deviceLabel(_:tag:)``; otherwise an app's name.
    package static func sealedByAgent(_ text: String) -> ItemName {
        text.utf8.starts(with: deviceLabelPrefix.utf8) ? ItemName(ofVault: text) : ItemName(rawValue: text)
    }

    package var isOfDeviceLabel: Bool { rawValue.utf8.starts(with: Self.deviceLabelPrefix.utf8) }

    private static let deviceLabelPrefix = "vault/device-label/"

    /// The name with the right to write it, for changes to all stored items.
    package var ofStored: ItemName { isReserved ? ItemName(ofVault: rawValue) : self }

    /// Whether the vault keeps this item. An app's own items must not begin with `vault/`.
    public var isReserved: Bool { rawValue.utf8.starts(with: "vault/".utf8) }

    /// Refuses a name that an app's item cannot have.
    ///
    /// - Throws: ``StoreError`` with code `reservedName`.
    package func requireOfApp() throws {
        guard !isReserved else { throw Self.reserved }
        let isPlain = rawValue.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        guard isPlain, (1...255).contains(rawValue.utf8.count) else {
            throw StoreError(
                .reservedName,
                "The name of an item must have 1 to 255 bytes and no control characters. Choose another name.")
        }
    }

    private static var reserved: StoreError {
        StoreError(.reservedName, "Names that begin with vault/ belong to the vault. Choose another name.")
    }

    /// Refuses an app's name that begins with `vault/`: its item could take the place of a token.
    ///
    /// - Throws: ``StoreError`` with code `reservedName`.
    package func requireWritable() throws {
        guard isReserved, !isOfVault else { return }
        throw Self.reserved
    }
}
