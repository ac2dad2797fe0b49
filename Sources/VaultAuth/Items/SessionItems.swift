internal import Foundation
public import VaultStorage

/// An app's own secrets in an open account, by name, sealed under the account's vault key.
///
/// They can be read and written until the session is locked, also without the network, and after the provider refused
/// the account. Each change is durable when its call returns. If the program is killed before that, the item has not
/// changed.
///
/// ```swift
/// try await session.items.update("notes", default: [String]()) { $0.append("Room 4: bandage") }
/// ```
///
/// A call that throws has changed nothing. It throws ``VaultError`` with one of these codes:
/// - `notLoggedIn`: the session was locked, or another program gave the account a new vault key. Log in again.
/// - `configurationInvalid`: no item can have this name. Choose another name.
/// - `busy`: another program uses the account. Try again.
/// - `accountNotFound`: the account was deleted. Register it.
/// - `storeUnreadable`: free disk space, then try again.
/// - `storeCorrupt`: restore a backup.
public struct SessionItems: Sendable {
    /// The size of the largest item, in bytes: 16 MiB.
    public static let maximumSize = ItemContents.maximumSize

    let session: Session

    /// Where the items are, while the session is open.
    private var source: any SessionBackend {
        get throws {
            try session.requireOpen()
            return session.backend
        }
    }

    /// The names of the app's own items, sorted.
    public func names() async throws -> [ItemName] { try await source.itemNames() }

    // MARK: - Bytes

    /// Returns the bytes of an item; nil if there is none.
    public func get(_ name: ItemName) async throws -> [UInt8]? { try await whole(name)?.bytes }

    /// Seals bytes as an item. Replaces the old content.
    ///
    /// - Throws: Also `itemTooLarge` for more than ``maximumSize``: store it in parts.
    public func set(_ name: ItemName, to content: [UInt8]) async throws {
        try await set(name, from: WholeContent(content))
    }

    /// Removes an item.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    public func remove(_ name: ItemName) async throws -> Bool { try await source.removeItem(name) }

    // MARK: - Large items, a piece at a time

    /// Calls `body` with each piece of an item, of at most 64 KiB. A large item is not held in memory.
    ///
    /// Nobody can change a piece unnoticed. If a piece is missing at the end, the call throws. Until the call returns,
    /// do only what you can undo. `body` runs where the caller runs, for example on the main actor.
    ///
    /// - Returns: false if there is no such item.
    /// - Throws: Also `busy` if another program changes the item during the call: call again. Also the errors of
    ///   `body`.
    @discardableResult
    public nonisolated(nonsending) func read(
        _ name: ItemName, _ body: nonisolated(nonsending) ([UInt8]) async throws -> Void
    ) async throws -> Bool {
        guard let item = try await source.item(name) else { return false }
        for try await piece in item.content { try await body(piece) }
        return true
    }

    /// Stores the content of a sequence as an item, and replaces the old content. A large item is not held in memory.
    /// Until all of the sequence is stored, other programs see the old content.
    ///
    /// - Parameters:
    ///   - name: the name of the item.
    ///   - content: pieces of any size.
    /// - Throws: Also `itemTooLarge` for more than ``maximumSize`` in all: store it in parts. Also the errors of
    ///   `content`.
    public func set<Content: AsyncSequence & Sendable>(
        _ name: ItemName, from content: Content
    ) async throws where Content.Element == [UInt8] {
        _ = try await source.setItem(name, from: content, if: .any)
    }

    // MARK: - Values

    /// Returns the value of an item that was stored as JSON; nil if there is no such item.
    ///
    /// - Throws: Also `itemUnexpected` if the item does not hold such a value: another program or version wrote it.
    public nonisolated(nonsending) func get<Value: Decodable>(
        _ name: ItemName, as type: Value.Type
    ) async throws -> Value? {
        try await whole(name).map { try decode($0.bytes, of: name) }
    }

    /// Stores a value as JSON.
    ///
    /// - Throws: Also `itemTooLarge` for more than ``maximumSize``: store it in parts. Also errors of encoding the
    ///   value.
    public nonisolated(nonsending) func set(_ name: ItemName, encoding value: some Encodable) async throws {
        try await set(name, to: encoded(value))
    }

    /// Changes a value that is stored as JSON. If several programs change it at the same time, no change is lost.
    ///
    /// - Parameters:
    ///   - name: the item.
    ///   - initial: the value to change if there is no such item yet.
    ///   - change: changes the value, and must do nothing else. If another program was faster, it is called again with
    ///     the newest value. It runs where the caller runs, for example on the main actor.
    /// - Returns: the result of the last call of `change`, whose value is stored.
    /// - Throws: Also `itemUnexpected` if the item does not hold such a value, and `itemTooLarge`. Also the errors of
    ///   `change`. Then nothing was changed.
    @discardableResult
    public nonisolated(nonsending) func update<Value: Codable, Result>(
        _ name: ItemName, default initial: @autoclosure () -> Value, _ change: (inout Value) throws -> Result
    ) async throws -> Result {
        while true {
            let stored = try await whole(name)
            var value = try stored.map { try decode($0.bytes, of: name) } ?? initial()
            let result = try change(&value)
            let content = try WholeContent(encoded(value))
            // Each failed try means that another program has stored something. So the programs together make progress.
            if try await source.setItem(name, from: content, if: ItemExpectation(stored?.revision)) { return result }
        }
    }

    // MARK: -

    private func whole(_ name: ItemName) async throws -> (bytes: [UInt8], revision: ItemRevision)? {
        while let item = try await source.item(name) {
            do {
                var bytes: [UInt8] = []
                for try await piece in item.content { bytes += piece }
                return (bytes, item.revision)
            } catch let error as VaultError where error.code == .busy {
                // If the item changed meanwhile, its new content is as good.
                guard try await source.item(name)?.revision != item.revision else { throw error }
            }
        }
        return nil
    }

    private func decode<Value: Decodable>(_ bytes: [UInt8], of name: ItemName) throws -> Value {
        do {
            return try JSONDecoder().decode(Value.self, from: Data(bytes))
        } catch {
            // The decoder's error may quote the content, so it is not passed on.
            throw VaultError(
                .itemUnexpected,
                "The item \(name) does not hold \(Value.self) as JSON. Another program or version wrote it. Use that program, or remove the item."
            )
        }
    }

    private func encoded(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }
}

/// Content that is already in memory.
struct WholeContent: AsyncSequence, Sendable {
    struct AsyncIterator: AsyncIteratorProtocol {
        var content: [UInt8]?

        mutating func next() async -> [UInt8]? {
            defer { content = nil }
            return content
        }
    }

    private let content: [UInt8]

    init(_ content: [UInt8]) { self.content = content }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(content: content) }
}
