/// The name of a sealed item within an account.
///
/// A name has 1 to 255 bytes, no control characters, and does not begin with `vault/`. A literal can stand for it:
/// `session.items.get("notes")`.
public struct ItemName: RawRepresentable, Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// The name as text.
    public let rawValue: String
    private let isOfVault: Bool

    /// The name of an app's own item. One that begins with `vault/` is only good for reading.
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

    /// What is exchanged for access tokens, a refresh token mostly, with what has to go with it.
    public static let refreshToken = ItemName(ofVault: "vault/refresh-token")
    /// The last access token, with its expiry.
    public static let accessToken = ItemName(ofVault: "vault/access-token")
    /// The verified claims of the last ID token, as JSON.
    public static let idTokenClaims = ItemName(ofVault: "vault/id-token-claims")

    /// The last ID token as it was signed: the hint for logging out at the provider.
    public static let idToken = ItemName(ofVault: "vault/id-token")

    /// Whether the vault itself keeps this item. An app's own items must not begin with `vault/`.
    public var isReserved: Bool { rawValue.utf8.starts(with: "vault/".utf8) }

    /// Refuses a name that no item of an app can have.
    ///
    /// - Throws: ``StoreError`` with code `reservedName`.
    package func requireOfApp() throws {
        guard !isReserved else { throw Self.reserved }
        let isPlain = rawValue.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        guard isPlain, (1...255).contains(rawValue.utf8.count) else {
            throw StoreError(
                .reservedName, "The name of an item has 1 to 255 bytes and no control characters. Choose another name.")
        }
    }

    private static var reserved: StoreError {
        StoreError(.reservedName, "Names that begin with vault/ are the vault's own. Choose another name.")
    }

    /// Refuses a name that an app made up in the vault's own space: its item could take the place of a token.
    ///
    /// - Throws: ``StoreError`` with code `reservedName`.
    package func requireWritable() throws {
        guard isReserved, !isOfVault else { return }
        throw Self.reserved
    }
}
