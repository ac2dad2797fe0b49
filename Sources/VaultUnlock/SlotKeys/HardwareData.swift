internal import Foundation
public import VaultBiometric
public import VaultStorage

/// The data that is stored beside the wrapped vault key of a keyslot that hardware protects.
struct HardwareData: Codable {
    /// The most bytes that a provider may store for a keyslot.
    static let maximumProtectedSize = 64 * 1024

    private var version = 1
    /// The provider's own data.
    private let provider: Data
    private let label: String
    /// With protocol version 1, the long secret, sealed under the hardware's key.
    private(set) var longSecret: Data?
    /// The identity key of the key service; nil for protocol version 1, or if the service had none.
    private(set) var serviceKey: Data?

    init(_ protected: ProtectedSecret, longSecret: [UInt8]? = nil, serviceKey: [UInt8]? = nil) {
        provider = Data(protected.bytes)
        label = protected.label
        self.longSecret = longSecret.map { Data($0) }
        self.serviceKey = serviceKey.map { Data($0) }
    }

    /// - Throws: ``StoreError`` with code `corrupt`.
    init(of slot: Keyslot) throws {
        guard slot.protection.count <= 2 * Self.maximumProtectedSize,
            let data = try? JSONDecoder().decode(HardwareData.self, from: Data(slot.protection)), data.version == 1
        else { throw StoreError(.corrupt, "A stored keyslot of the kind \(slot.kind.rawValue) is damaged.") }
        self = data
    }

    func encoded() throws -> [UInt8] { Array(try JSONEncoder().encode(self)) }

    var protected: ProtectedSecret { ProtectedSecret(bytes: Array(provider), label: label) }
}

extension Keyslot {
    /// Returns the provider's own data of a keyslot that hardware protects.
    ///
    /// - Throws: ``StoreError`` with code `corrupt`: use another unlock method.
    public func protectedSecret() throws -> ProtectedSecret { try HardwareData(of: self).protected }
}
