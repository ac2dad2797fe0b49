internal import Foundation
internal import VaultCrypto
package import VaultStorage

/// A key at a key service that no keyslot needs any more. Until the key is ended there, an older copy of the store
/// still opens with the old secret.
package struct RetiredKey: Sendable, Hashable, Codable {
    /// The id of the key at the key service.
    package let id: String
    /// The base URL of the key service.
    package let keyServiceURL: String
    /// The version of the key service's protocol that the key speaks.
    package let keyServiceProtocol: Int

    /// With protocol version 2, the signature that ends the key, 64 bytes; nil for version 1, or while the signature is
    /// still sealed.
    package internal(set) var endSignature: [UInt8]?
    /// The signature as the keyslot had it, sealed under the vault key of ``account``.
    var sealedEndSignature: [UInt8]?
    /// The account that can open the sealed signature.
    package internal(set) var account: AccountID?
    /// The kind of the unlock method that had the key, as a word; nil if the entry does not say it.
    private var unlockMethod: String?
    /// The time when the key was made; nil if no keyslot can get the key any more.
    var madeAt: Date?

    /// The time in which a new key gets its keyslot, in seconds.
    static let newTime: TimeInterval = 600

    /// Makes an entry of the list.
    ///
    /// - Parameters:
    ///   - id: the id of the key at its key service.
    ///   - keyServiceURL: the base URL of its key service.
    ///   - keyServiceProtocol: the version of the key service's protocol that the key speaks. Nil means 2 if there
    ///     is a signature, otherwise 1.
    ///   - endSignature: from protocol version 2 on, the signature that ends the key, 64 bytes; nil for version 1.
    package init(id: String, keyServiceURL: String, keyServiceProtocol: Int? = nil, endSignature: [UInt8]? = nil) {
        self.id = id
        self.keyServiceURL = keyServiceURL
        self.keyServiceProtocol = keyServiceProtocol ?? (endSignature == nil ? 1 : 2)
        self.endSignature = endSignature
    }

    /// Makes an entry for the key of a keyslot.
    ///
    /// - Parameters:
    ///   - version: the keyslot's protocol version; nil if it cannot be read.
    ///   - signature: the keyslot's signature, sealed or not; empty for protocol version 1.
    init(id: String, of account: Account, _ kind: Keyslot.Kind, version: Int?, _ signature: [UInt8]) {
        // A damaged keyslot may have any number. With version 1, a key of version 2 would only seem to end.
        self.init(
            id: id, keyServiceURL: account.keyServiceURL,
            keyServiceProtocol: signature.isEmpty ? version ?? 1 : max(version ?? 2, 2))
        unlockMethod = kind.rawValue
        if signature.count == Signature.size {
            endSignature = signature
        } else if keyServiceProtocol >= 2 {
            (sealedEndSignature, self.account) = (signature, account.id)
        }
    }

    /// Whether the key service ends the key only for a signature that is still sealed.
    package var lacksSignature: Bool { keyServiceProtocol >= 2 && endSignature == nil }

    /// The kind of the unlock method that had the key.
    var kind: Keyslot.Kind { Keyslot.Kind(rawValue: unlockMethod ?? "unlock method") }

    /// Whether the key may still get its keyslot. A clock that was set back does not make a key young.
    func isYoung(at now: Date) -> Bool { madeAt.map { abs(now.timeIntervalSince($0)) < Self.newTime } ?? false }

    /// Two entries are the same if they are about the same key.
    package static func == (first: RetiredKey, second: RetiredKey) -> Bool {
        first.id == second.id && first.keyServiceURL == second.keyServiceURL
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(keyServiceURL)
    }
}

/// The list of keys that are still to be ended at their key services. The list belongs to the store, because the
/// account of a key may be deleted.
///
/// Each line of the record is one key as JSON. A line that cannot be read stays there, and does not hide other lines.
package struct RetiredKeys: Sendable {
    private static let record = "retired-keys"

    private let store: any SecureStore

    /// Opens the list of a store. Nothing is read yet.
    package init(store: any SecureStore) {
        self.store = store
    }

    /// Adds keys to the list, in one step with the change that retires them. Keyslots without a key are skipped.
    package static func adding(_ keys: [RetiredKey]) -> StoreChange {
        .changeRecord(record) { bytes in bytes = try added(keys, to: bytes) }
    }

    /// Removes keys from the list, in one step with the change after which nobody can end them.
    static func dropping(_ keys: Set<RetiredKey>) -> StoreChange {
        .changeRecord(record) { bytes in bytes = removing(keys, from: bytes) }
    }

    /// Adds keys to the list that no stored keyslot ever had.
    ///
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    package func add(_ keys: [RetiredKey]) async throws {
        try await store.withRecord(Self.record) { bytes in bytes = try Self.added(keys, to: bytes) }
    }

    /// The keys on the list, oldest first.
    ///
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    package func all() async throws -> [RetiredKey] {
        try await store.withRecord(Self.record) { bytes in Self.lines(of: bytes).compactMap(Self.key(in:)) }
    }

    /// Removes keys from the list.
    ///
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    package func remove(_ keys: Set<RetiredKey>) async throws {
        try await store.withRecord(Self.record) { bytes in bytes = Self.removing(keys, from: bytes) }
    }

    /// Seals the signatures of an account under its new vault key. Otherwise nobody could end these keys any more.
    static func resealing(_ id: AccountID, from old: VaultKey, to new: VaultKey) -> StoreChange {
        .changeRecord(record) { bytes in
            let resealed = try lines(of: bytes).compactMap(key(in:)).compactMap { key -> RetiredKey? in
                guard key.endSignature == nil, key.account == id, let sealed = key.sealedEndSignature,
                    let signature = try old.resealed(sealed, as: .keyEnd(key.id), of: id, under: new)
                else { return nil }
                var key = key
                key.sealedEndSignature = signature
                return key
            }
            bytes = try replacing(resealed, in: bytes)
        }
    }

    /// Takes a new key off the list, in one step with the change that stores its keyslot.
    ///
    /// The step fails with ``StoreError`` code `busy` if another program ends the key: a keyslot with a dead key would
    /// open nothing.
    static func taking(_ key: RetiredKey) -> StoreChange {
        .changeRecord(record) { bytes in
            let lines = lines(of: bytes)
            guard let found = lines.firstIndex(where: { Self.key(in: $0) == key }),
                Self.key(in: lines[found])?.madeAt != nil
            else {
                throw StoreError(.busy, "Making the new unlock method took too long, so its key was ended. Try again.")
            }
            bytes = joined(lines.enumerated().filter { $0.offset != found }.map { Array($0.element) })
        }
    }

    /// Marks a key so that no keyslot gets it any more.
    ///
    /// - Returns: the entry; nil if the key is not on the list, or may still get its keyslot.
    func claim(_ key: RetiredKey, at now: Date) async throws -> RetiredKey? {
        try await store.withRecord(Self.record) { bytes in
            guard let found = Self.lines(of: bytes).compactMap(Self.key(in:)).first(where: { $0 == key }),
                !found.isYoung(at: now)
            else { return nil }
            var claimed = found
            claimed.madeAt = nil
            if found.madeAt != nil { bytes = try Self.replacing([claimed], in: bytes) }
            return claimed
        }
    }

    /// Replaces the entry of a key, if it is there.
    func replace(_ key: RetiredKey) async throws {
        try await store.withRecord(Self.record) { bytes in bytes = try Self.replacing([key], in: bytes) }
    }

    private static func removing(_ keys: Set<RetiredKey>, from bytes: [UInt8]?) -> [UInt8]? {
        let rest = lines(of: bytes).filter { line in key(in: line).map { !keys.contains($0) } ?? true }
        return joined(rest.map { Array($0) })
    }

    /// An entry that is there already stays. It no longer counts as new if the added one does not, and it takes over a
    /// signature that it lacks.
    private static func added(_ keys: [RetiredKey], to bytes: [UInt8]?) throws -> [UInt8]? {
        let known = lines(of: bytes).compactMap(key(in:))
        var changed: [RetiredKey] = []
        var lines = lines(of: bytes).map { Array($0) }
        for key in keys where !key.id.isEmpty {
            if var present = known.first(where: { $0 == key }) {
                let isOld = present.madeAt != nil && key.madeAt == nil
                guard isOld || present.lacksSignature && !key.lacksSignature else { continue }
                if isOld { present.madeAt = nil }
                present.endSignature = present.endSignature ?? key.endSignature
                changed.append(present)
            } else {
                lines.append(try line(key))
            }
        }
        return try replacing(changed, in: joined(lines))
    }

    private static func replacing(_ keys: [RetiredKey], in bytes: [UInt8]?) throws -> [UInt8]? {
        joined(
            try lines(of: bytes).map { old in
                guard let key = key(in: old), let new = keys.first(where: { $0 == key }) else { return Array(old) }
                return try line(new)
            })
    }

    private static func line(_ key: RetiredKey) throws -> [UInt8] { Array(try JSONEncoder().encode(key)) }

    private static func joined(_ lines: [[UInt8]]) -> [UInt8]? {
        lines.isEmpty ? nil : Array(lines.joined(separator: [newline]))
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
