internal import Foundation
internal import VaultStorage

extension BackendLayout {
    /// Returns the part of the layout that is stored with an account; nil for a method without a layout.
    func stored(for method: SignInMethod) throws -> StoredLayout? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return switch method {
        case .backend: .json(Array(try encoder.encode(["browser": browser])))
        case .passwordBackend: .json(Array(try encoder.encode(["password": password])))
        case .serverOAuth, .serverToken: .json(Array(try encoder.encode(["server": server])))
        default: nil
        }
    }

    /// - Throws: ``VaultError`` with code `storeCorrupt`.
    init(_ stored: StoredLayout) throws {
        do {
            guard case .json(let bytes) = stored else { throw StoreError(.corrupt, "Its checksum is wrong.") }
            self = try JSONDecoder().decode(Self.self, from: Data(bytes))
        } catch {
            throw VaultError(
                .storeCorrupt,
                "The stored layout of the account's backend is damaged. Nothing was deleted. Register again.",
                detail: .layoutDamaged, underlying: error)
        }
    }
}
