internal import Foundation
internal import VaultStorage

/// The record of the key services that have protocol version 2. It saves a question at each login.
///
/// A service that has version 2 keeps it. A service that does not have it is asked again after a day. A damaged record
/// counts as an empty one.
struct ServiceVersions: Sendable {
    private static let record = "key-service-versions"
    /// The time between two questions, in seconds.
    private static let interval: TimeInterval = 86_400

    private struct Entry: Codable {
        let isOblivious: Bool
        let askedAt: Date
    }

    let store: any SecureStore

    /// - Returns: nil if the service was never asked.
    func isOblivious(_ url: String) async throws -> Bool? { try await entry(url)?.isOblivious }

    /// As ``isOblivious(_:)``; also nil if it is time to ask the service again.
    func present(_ url: String, at now: Date) async throws -> Bool? {
        guard let entry = try await entry(url) else { return nil }
        return !entry.isOblivious && abs(now.timeIntervalSince(entry.askedAt)) >= Self.interval
            ? nil : entry.isOblivious
    }

    func note(_ url: String, isOblivious: Bool, at now: Date) async throws {
        try await store.withRecord(Self.record) { bytes in
            var entries = Self.decode(bytes)
            entries[url] = Entry(isOblivious: isOblivious, askedAt: now)
            bytes = Array(try JSONEncoder().encode(entries))
        }
    }

    private func entry(_ url: String) async throws -> Entry? {
        try await store.withRecord(Self.record) { Self.decode($0)[url] }
    }

    private static func decode(_ bytes: [UInt8]?) -> [String: Entry] {
        bytes.flatMap { try? JSONDecoder().decode([String: Entry].self, from: Data($0)) } ?? [:]
    }
}
