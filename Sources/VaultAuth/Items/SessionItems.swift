internal import Foundation
public import VaultStorage

/// An app's own secrets in an open account, by name, sealed under the account's vault key.
///
/// They can be read and written without the network, and also when the provider refused the account, until the session is
/// locked. Each change is durable when its call returns. A program that is killed meanwhile leaves the item as it was.
///
/// ```swift
/// try await session.items.update("notes", default: [String]()) { $0.append("Room 4: bandage") }
/// ```
///
/// Everything that throws throws ``VaultError``: `notLoggedIn` when the session was locked, `configurationInvalid` for a
/// name that no item can have, `busy` when another program holds the account or registered it again, `accountNotFound`,
/// `storeUnreadable`, `storeCorrupt`. A change that throws changed nothing.
public struct SessionItems: Sendable {
    /// The size of the largest item, in bytes: 16 MiB.
    public static let maximumSize = ItemContents.maximumSize

    private let source: any ItemSource

    package init(_ source: any ItemSource) { self.source = source }

    /// The names of the app's own items, sorted.
    public func names() async throws -> [ItemName] { try await source.names() }

    // MARK: - Bytes

    /// The bytes of an item; nil when there is none.
    public func get(_ name: ItemName) async throws -> [UInt8]? { try await whole(name)?.bytes }

    /// Seals bytes as an item, in place of what it was.
    ///
    /// - Throws: `itemTooLarge` besides for more than ``maximumSize``.
    public func set(_ name: ItemName, to content: [UInt8]) async throws {
        try await set(name, from: WholeContent(content))
    }

    /// Removes an item.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    public func remove(_ name: ItemName) async throws -> Bool { try await source.remove(name) }

    // MARK: - Large items, a piece at a time

    /// Calls `body` with the pieces of an item, of at most 64 KiB, one after the other. A large item is not held in memory.
    ///
    /// Nobody can change a piece unnoticed. If a piece is missing at the end, the call throws. Until the call returns,
    /// do only what you can undo.
    ///
    /// - Returns: false when there is no such item.
    /// - Throws: Also `busy` when another program changes the item during the call: call again. And what `body` throws.
    @discardableResult
    public func read(_ name: ItemName, _ body: ([UInt8]) async throws -> Void) async throws -> Bool {
        guard let item = try await source.read(name) else { return false }
        for try await piece in item.content { try await body(piece) }
        return true
    }

    /// Stores the content of a sequence as an item, and replaces the old content. A large item is not held in memory.
    /// Until all of the sequence is stored, other programs see the old content.
    ///
    /// - Parameters:
    ///   - name: the name of the item.
    ///   - content: pieces of any size.
    /// - Throws: Also `itemTooLarge` for more than ``maximumSize`` in all. Also what `content` throws.
    public func set<Content: AsyncSequence & Sendable>(
        _ name: ItemName, from content: Content
    ) async throws where Content.Element == [UInt8] {
        _ = try await source.write(name, content, if: .any)
    }

    // MARK: - Values

    /// The value of an item that was stored as JSON; nil when there is no such item.
    ///
    /// - Throws: `itemUnexpected` besides when the item is no such value.
    public func get<Value: Decodable>(_ name: ItemName, as type: Value.Type) async throws -> Value? {
        try await whole(name).map { try decode($0.bytes, of: name) }
    }

    /// Stores a value as JSON.
    ///
    /// - Throws: `itemTooLarge` besides for more than ``maximumSize``; what encoding the value throws.
    public func set(_ name: ItemName, encoding value: some Encodable) async throws {
        try await set(name, to: encoded(value))
    }

    /// Changes a value that is stored as JSON. If several programs change it at the same time, no change is lost.
    ///
    /// - Parameters:
    ///   - name: the item.
    ///   - initial: what is changed when there is no such item yet.
    ///   - change: changes the value. It may be called more than once, each time with the newest value, because another
    ///     program was faster: let it do nothing but change the value.
    /// - Returns: what the last call of `change` returned. Its value is stored.
    /// - Throws: `itemUnexpected` besides when the item is no such value, `itemTooLarge`; what `change` throws. Nothing was
    ///   changed then.
    @discardableResult
    public func update<Value: Codable & Sendable, Result>(
        _ name: ItemName, default initial: @autoclosure () -> Value, _ change: (inout Value) throws -> Result
    ) async throws -> Result {
        while true {
            let stored = try await whole(name)
            var value = try stored.map { try decode($0.bytes, of: name) } ?? initial()
            let result = try change(&value)
            let content = try WholeContent(encoded(value))
            // Somebody has stored something each time that this is not what is expected: all together get on.
            if try await source.write(name, content, if: ItemExpectation(stored?.revision)) { return result }
        }
    }

    // MARK: -

    private func whole(_ name: ItemName) async throws -> (bytes: [UInt8], revision: ItemRevision)? {
        while let item = try await source.read(name) {
            do {
                var bytes: [UInt8] = []
                for try await piece in item.content { bytes += piece }
                return (bytes, item.revision)
            } catch let error as VaultError where error.code == .busy {
                // When it was changed meanwhile, the new one is as good.
                guard try await source.read(name)?.revision != item.revision else { throw error }
            }
        }
        return nil
    }

    private func decode<Value: Decodable>(_ bytes: [UInt8], of name: ItemName) throws -> Value {
        do {
            return try JSONDecoder().decode(Value.self, from: Data(bytes))
        } catch {
            // The error itself may quote the content.
            throw VaultError(
                .itemUnexpected,
                "The item \(name) does not hold what this program stores there (\(Value.self) as JSON). Another program or version wrote it."
            )
        }
    }

    private func encoded(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }
}

/// Content that is in memory already.
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
