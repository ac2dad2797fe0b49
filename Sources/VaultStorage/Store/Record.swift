internal import Foundation

/// A record of the store as JSON: notes that are not sealed.
///
/// Nothing authenticates a record, and a disk can damage it. So a record that cannot be read counts as an empty one, and
/// ``RecordContent/tidy()`` corrects values that this program never writes.
package struct Record<Content: RecordContent>: Sendable {
    private let store: any SecureStore
    private let name: String

    /// Opens a record. Nothing is read yet.
    ///
    /// - Parameter account: the account that the record is deleted with; nil for a record of the whole store.
    package init(_ name: String, of account: AccountID? = nil, in store: any SecureStore) {
        self.store = store
        self.name = (account?.recordPrefix ?? "") + name
    }

    /// What is stored now.
    ///
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    package func content() async throws -> Content { try await store.withRecord(name) { Self.decode($0) } }

    /// Changes the record. The change is durable when this returns.
    ///
    /// - Throws: as ``content()``, and the errors of `change`: then nothing was changed.
    @discardableResult
    package func change<R: Sendable>(_ change: @escaping @Sendable (inout Content) throws -> R) async throws -> R {
        try await store.withRecord(name) { try Self.changed(&$0, change) }
    }

    /// Returns the change, for one step with others.
    ///
    /// - Parameter mayBeLost: see ``StoreChange/mayBeLost``.
    package func changing(
        mayBeLost: Bool = false, _ change: @escaping @Sendable (inout Content) throws -> Void
    ) -> StoreChange {
        .changeRecord(name, mayBeLost: mayBeLost) { try Self.changed(&$0, change) }
    }

    private static func changed<R>(_ bytes: inout [UInt8]?, _ change: (inout Content) throws -> R) throws -> R {
        var content = decode(bytes)
        let result = try change(&content)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        bytes = content.isEmpty ? nil : Array(try encoder.encode(content))
        return result
    }

    private static func decode(_ bytes: [UInt8]?) -> Content {
        let readable = bytes.flatMap { $0.count <= recordLimit ? $0 : nil }
        var content = readable.flatMap { try? JSONDecoder().decode(Content.self, from: Data($0)) } ?? Content()
        content.tidy()
        return content
    }
}

package protocol RecordContent: Codable, Sendable {
    init()

    /// Whether nothing is noted. The store then keeps no record.
    var isEmpty: Bool { get }

    /// Corrects values that this program never writes.
    mutating func tidy()
}

extension RecordContent {
    package mutating func tidy() {}
}

/// The size in bytes of the largest record that is read. Reading a larger one would make a login slow.
private let recordLimit = 1 << 20
