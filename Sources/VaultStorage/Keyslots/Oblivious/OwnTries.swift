internal import Foundation
internal import KeyService
internal import VaultCrypto

/// The record of the tries of this store at key services of protocol version 2. It tells a person's own tries from
/// those of a thief, and keeps the confirmations that the service does not have yet.
///
/// Nothing in it is secret. A damaged record counts as an empty one: then the person may be told of an own try.
struct OwnTries: Sendable {
    /// The most tries of one key that are kept, with a ticket and without.
    private static let limit = 128

    private struct Try: Codable {
        let blinded: [UInt8]
        /// The ticket; nil as long as the service's answer is not known.
        var ticket: [UInt8]?
    }

    private struct Content: Codable {
        var tries: [String: [Try]] = [:]
        var confirmations: [KeyConfirmation] = []
        /// The keys whose confirmation the service refused.
        var refused: Set<String> = []

        /// Many logins at once must not push out a try whose ticket is known.
        mutating func add(_ new: Try, at key: String) {
            let all = (tries[key] ?? []) + [new]
            tries[key] =
                all.filter { $0.ticket != nil }.suffix(OwnTries.limit)
                + all.filter { $0.ticket == nil }.suffix(OwnTries.limit)
        }

        var isEmpty: Bool { tries.isEmpty && confirmations.isEmpty && refused.isEmpty }
    }

    private let store: any SecureStore
    private let name: String

    /// Opens the record of one account. Nothing is read yet.
    init(store: any SecureStore, account: AccountID) {
        self.store = store
        name = account.recordPrefix + "own-tries"
    }

    /// Notes a try before its answer is known.
    func note(_ blinded: RistrettoElement, at key: String) async throws {
        try await change { content in
            content.add(Try(blinded: blinded.bytes), at: key)
        }
    }

    /// Notes the ticket of a try.
    func note(_ ticket: [UInt8], of blinded: RistrettoElement, at key: String) async throws {
        try await change { content in
            content.tries[key, default: []].removeAll { $0.blinded == blinded.bytes }
            content.add(Try(blinded: blinded.bytes, ticket: ticket), at: key)
        }
    }

    /// The tickets of a key that belong to this store, also those in waiting confirmations. A ticket follows from its
    /// element, so a try counts although its answer was lost.
    func tickets(at key: String) async throws -> Set<[UInt8]> {
        let content = try await content()
        let waiting = content.confirmations.filter { $0.id == key }.flatMap(\.tickets)
        return Set((content.tries[key] ?? []).compactMap { Self.ticket(of: $0, at: key) } + waiting)
    }

    private static func ticket(of own: Try, at key: String) -> [UInt8]? {
        (try? RistrettoElement(own.blinded)).map { ObliviousKeys.ticket(key, $0) }
    }

    /// Stores a confirmation until the service has it. Its tries are forgotten, and those of keys that the account no
    /// longer has.
    func storing(
        _ confirmation: KeyConfirmation, of blinded: RistrettoElement, keeping keys: Set<String>
    ) -> StoreChange {
        .changeRecord(name) { bytes in
            var content = Self.decode(bytes)
            content.tries = content.tries.filter { keys.contains($0.key) }
            content.tries[confirmation.id]?.removeAll { own in
                own.blinded == blinded.bytes
                    || Self.ticket(of: own, at: confirmation.id).map(confirmation.tickets.contains) ?? false
            }
            content.confirmations.append(confirmation)
            bytes = try Self.encode(content)
        }
    }

    /// The confirmations that the service does not have yet, oldest first.
    func confirmations() async throws -> [KeyConfirmation] { try await content().confirmations }

    /// Forgets a confirmation.
    ///
    /// - Parameter isRefused: whether the service refused it. Then somebody may have changed the key.
    func forget(_ confirmation: KeyConfirmation, isRefused: Bool = false) async throws {
        try await change { content in
            content.confirmations.removeAll { $0 == confirmation }
            if isRefused { content.refused.insert(confirmation.id) }
        }
    }

    /// Whether the service refused a confirmation of this key.
    func wasRefused(_ key: String) async throws -> Bool { try await content().refused.contains(key) }

    /// Forgets all about the keys that the account no longer has.
    func keepOnly(_ keys: Set<String>) async throws {
        try await change { content in
            content.tries = content.tries.filter { keys.contains($0.key) }
            content.confirmations.removeAll { !keys.contains($0.id) }
            content.refused.formIntersection(keys)
        }
    }

    private func content() async throws -> Content { try await store.withRecord(name) { Self.decode($0) } }

    private func change(_ change: @escaping @Sendable (inout Content) -> Void) async throws {
        try await store.withRecord(name) { bytes in
            var content = Self.decode(bytes)
            change(&content)
            bytes = try Self.encode(content)
        }
    }

    private static func decode(_ bytes: [UInt8]?) -> Content {
        bytes.flatMap { try? JSONDecoder().decode(Content.self, from: Data($0)) } ?? Content()
    }

    private static func encode(_ content: Content) throws -> [UInt8]? {
        var content = content
        content.tries = content.tries.filter { !$0.value.isEmpty }
        guard !content.isEmpty else { return nil }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return Array(try encoder.encode(content))
    }
}
