internal import Foundation

/// A key at a key service that no keyslot needs any more. Until the key is ended there, an older copy of the store
/// still opens with the old secret.
public struct RetiredKey: Sendable, Hashable, Codable {
    /// The id of the key at the key service.
    public let id: String
    /// The base URL of the key service.
    public let keyServiceURL: String

    /// Makes an entry of the list.
    ///
    /// - Parameters:
    ///   - id: the id of the key at its key service.
    ///   - keyServiceURL: the base URL of its key service.
    public init(id: String, keyServiceURL: String) {
        self.id = id
        self.keyServiceURL = keyServiceURL
    }
}

/// The list of keys that are still to be ended at their key services. The list belongs to the store, because the
/// account of a key may be deleted.
///
/// Each line of the record is one key as JSON. A line that cannot be read stays there, and does not hide other lines.
public struct RetiredKeys: Sendable {
    private static let record = "retired-keys"

    private let store: any SecureStore

    /// Opens the list of a store. Nothing is read yet.
    public init(store: any SecureStore) {
        self.store = store
    }

    /// Adds keys to the list, in one step with the change that retires them. Keyslots without a key are skipped.
    public static func adding(_ keys: [RetiredKey]) -> StoreChange {
        .changeRecord(record) { bytes in bytes = try added(keys, to: bytes) }
    }

    /// Adds keys to the list that no stored keyslot ever had.
    ///
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    public func add(_ keys: [RetiredKey]) async throws {
        try await store.withRecord(Self.record) { bytes in bytes = try Self.added(keys, to: bytes) }
    }

    /// The keys on the list, oldest first.
    ///
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    public func all() async throws -> [RetiredKey] {
        try await store.withRecord(Self.record) { bytes in Self.lines(of: bytes).compactMap(Self.key(in:)) }
    }

    /// Removes keys from the list.
    ///
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    public func remove(_ keys: Set<RetiredKey>) async throws {
        try await store.withRecord(Self.record) { bytes in
            let rest = Self.lines(of: bytes).filter { line in Self.key(in: line).map { !keys.contains($0) } ?? true }
            bytes = rest.isEmpty ? nil : Array(rest.joined(separator: [newline]))
        }
    }

    private static func added(_ keys: [RetiredKey], to bytes: [UInt8]?) throws -> [UInt8]? {
        var lines = lines(of: bytes).map { Array($0) }
        let known = Set(lines.compactMap { key(in: $0[...]) })
        for key in keys where !key.id.isEmpty && !known.contains(key) {
            lines.append(Array(try JSONEncoder().encode(key)))
        }
        return lines.isEmpty ? nil : Array(lines.joined(separator: [newline]))
    }

    private static func lines(of bytes: [UInt8]?) -> [ArraySlice<UInt8>] {
        (bytes ?? []).split(separator: newline)
    }

    private static func key(in line: ArraySlice<UInt8>) -> RetiredKey? {
        try? JSONDecoder().decode(RetiredKey.self, from: Data(line))
    }
}

/// The end of a line. JSON on one line has no such byte.
private let newline = UInt8(ascii: "\n")
