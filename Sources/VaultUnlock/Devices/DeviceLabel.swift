internal import Foundation
internal import VaultBase
internal import VaultCrypto
internal import VaultStorage

/// The label of a key at the key service: the tag of its device in the clear, then the name of the device and the kind
/// of unlock method, sealed under the vault key.
struct DeviceLabel: Codable, Hashable {
    /// The size of a tag, in bytes.
    static let tagSize = 16
    /// The size of the sealed text, in bytes. Every label has the same size, so the size tells nothing.
    private static let textSize = 448

    let name: String
    /// The kind of unlock method; nil if the device was registered separately.
    let kind: String?

    /// - Parameter name: a name of any length. A name that does not fit is shortened.
    init(shortening name: String, _ kind: Keyslot.Kind?) throws {
        var name = name
        while try Self(name, kind).text().count > Self.textSize, !name.isEmpty { name.removeLast() }
        self.init(name, kind)
    }

    init(_ name: String, _ kind: Keyslot.Kind?) {
        self.name = name
        self.kind = kind?.rawValue
    }

    /// Whether the label has room for a name.
    static func fits(_ name: String) throws -> Bool {
        // The longest known kind has 8 letters. Hardware of an app may have a longer one.
        try Self(name, Keyslot.Kind(rawValue: String(repeating: "k", count: 24))).text().count <= textSize
    }

    /// Returns the tag of an account's device. The tag comes from the device secret, but nobody can find the secret
    /// with it. Each registration makes a new device secret, so it also has a new tag.
    static func tag(of account: Account) throws -> [UInt8] {
        try KeyDerivation.hkdf(
            SecretBytes(copying: account.deviceSecret), info: "credential-vault/v2/device-tag", count: tagSize
        ).withUnsafeBytes { Array($0) }
    }

    /// Reads the tag of a label; nil if it has none.
    static func tag(in label: [UInt8]?) -> [UInt8]? {
        guard let label, label.count >= tagSize else { return nil }
        return Array(label.prefix(tagSize))
    }

    func sealed(_ keyID: String, tag: [UInt8], of id: AccountID, _ vaultKey: VaultKey) async throws -> [UInt8] {
        var text = try text()
        text += [UInt8](repeating: UInt8(ascii: " "), count: max(0, Self.textSize - text.count))
        return try await tag + vaultKey.seal(text, as: .deviceLabel(keyID, tag: Hexadecimal.text(tag)), of: id)
    }

    /// Opens the label of one key.
    ///
    /// - Returns: nil for the label of another vault key, or of another key or tag.
    static func opened(
        _ label: [UInt8], of keyID: String, _ id: AccountID, _ vaultKey: VaultKey
    ) async throws -> DeviceLabel? {
        guard let tag = tag(in: label) else { return nil }
        do {
            let text = try await vaultKey.open(
                Array(label.dropFirst(tagSize)), as: .deviceLabel(keyID, tag: Hexadecimal.text(tag)), of: id)
            return try? JSONDecoder().decode(Self.self, from: Data(text))
        } catch let error as StoreError where error.code == .corrupt {
            return nil
        }
    }

    private func text() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(self))
    }
}

/// The name of this machine in the network.
enum HostName {
    static var present: String {
        var buffer = [CChar](repeating: 0, count: 256)
        // No look-up in the network: that could take seconds.
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return unnamed }
        let name = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return name.isEmpty ? unnamed : name
    }

    private static let unnamed = "unnamed machine"
}
