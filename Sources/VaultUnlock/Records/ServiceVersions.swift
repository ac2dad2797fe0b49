internal import Foundation
internal import VaultStorage

/// The record of the key services that have protocol version 2. It saves a question at each login.
///
/// A service that has version 2 keeps it. A service that does not have it is asked again after a day.
struct ServiceVersions: Sendable {
    /// The time between two questions, in seconds.
    private static let interval: TimeInterval = 86_400

    private struct Entry: Codable {
        let isOPRF: Bool
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
    func isOPRF(_ url: String) async throws -> Bool? { try await record.content().services[url]?.isOPRF }

    /// As ``isOPRF(_:)``; also nil if it is time to ask the service again.
    func present(_ url: String, at now: Date) async throws -> Bool? {
        guard let entry = try await record.content().services[url] else { return nil }
        return !entry.isOPRF && abs(now.timeIntervalSince(entry.askedAt)) >= Self.interval
            ? nil : entry.isOPRF
    }

    func note(_ url: String, isOPRF: Bool, at now: Date) async throws {
        try await record.change { $0.services[url] = Entry(isOPRF: isOPRF, askedAt: now) }
    }
}
