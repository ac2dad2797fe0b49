internal import Foundation
internal import VaultStorage

/// The record of the newest protocol version of each key service. It saves a question at each login.
///
/// A service never loses a version. One without the newest version is asked again after a day.
struct ServiceVersions: Sendable {
    /// The time between two questions, in seconds.
    private static let interval: TimeInterval = 86_400

    private struct Entry: Codable {
        let newest: Int
        let askedAt: Date
    }

    private struct Content: RecordContent {
        /// By the URLs of the services.
        var services: [String: Entry] = [:]
        var isEmpty: Bool { services.isEmpty }
    }

    private let record: Record<Content>

    init(store: any SecureStore) { record = Record("key-service-versions", in: store) }

    /// - Returns: nil if the service was never asked.
    func newest(_ url: String) async throws -> Int? { try await record.content().services[url]?.newest }

    /// As ``newest(_:)``; also nil if the version is below `limit` and it is time to ask the service again.
    func present(_ url: String, below limit: Int, at now: Date) async throws -> Int? {
        guard let entry = try await record.content().services[url] else { return nil }
        return entry.newest < limit && abs(now.timeIntervalSince(entry.askedAt)) >= Self.interval ? nil : entry.newest
    }

    func note(_ url: String, _ newest: Int, at now: Date) async throws {
        try await record.change { content in
            let known = content.services[url]?.newest ?? newest
            content.services[url] = Entry(newest: max(newest, known), askedAt: now)
        }
    }
}
