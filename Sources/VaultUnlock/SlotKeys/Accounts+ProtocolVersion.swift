internal import Foundation
internal import KeyServiceClient
internal import VaultBase
internal import VaultHTTP
internal import VaultStorage

// The version of the key service's protocol for new keyslots.
extension Accounts {
    /// Returns the version that new keyslots of an account speak.
    func protocolVersion(for account: Account) async throws -> Int {
        let (url, known) = (account.keyServiceURL, account.keyslots.compactMap(\.keyServiceProtocol).max() ?? 1)
        guard let service = try services.oprf(url) else {
            // Refuses an account that has a newer version.
            _ = try keys(known, at: url)
            try requireAllowed(keyServiceProtocol: 1)
            return 1
        }
        guard known == 1 else { return known }
        let versions = ServiceVersions(store: store)
        let named = try await service.protocolVersions()
        let newest = Self.newest(of: named)
        if newest > 1 {
            try? await versions.note(url, newest, at: clock.now)
            return newest
        }
        if let earlier = try? await versions.newest(url), earlier > 1 { return earlier }
        try requireAllowed(keyServiceProtocol: 1)
        if account.keyslots.isEmpty { try requireMayBeVersion1(url, naming: named) }
        return 1
    }

    /// Refuses a server that is no key service, and a key service whose protocol is too old for a new account.
    func checkKeyServiceProtocol() async throws {
        guard newAccountProtocol > 1, let service = try services.oprf(keyServiceURL),
            (try? await ServiceVersions(store: store).newest(keyServiceURL)) ?? 1 == 1
        else { return }
        let named = try await service.protocolVersions()
        if Self.newest(of: named) == 1 { try requireMayBeVersion1(keyServiceURL, naming: named) }
    }

    /// Refuses a key service without a newer version than 1 for a new account, unless the settings allow version 1. An
    /// existing account of version 1 stays as it is.
    ///
    /// - Parameter versions: the versions that the service names. The error mentions version 1 only if the service names
    ///   it: a wrong URL must not lead a person to the weaker protocol.
    /// - Throws: `KeyServiceError` with code `invalidAnswer`. ``VaultError`` with code `configurationInvalid`.
    private func requireMayBeVersion1(_ url: String, naming versions: Set<Int>) throws {
        guard newAccountProtocol > 1 else { return }
        let shown = BaseURL.withoutUser(url)
        guard !versions.isEmpty else { throw KeyServiceError.nothing(at: shown) }
        guard versions.contains(1) else {
            throw VaultError(
                .configurationInvalid,
                "This program does not know the protocol versions of the key service \(shown). Install a newer version of this program."
            )
        }
        throw VaultError(
            .configurationInvalid,
            "The key service \(shown) has only protocol version 1, or somebody in the network hides version 2. With version 1, recorded traffic and the disk together can test passwords, so new accounts do not use it.",
            detail: .oldProtocol, value: "1")
    }

    /// Whether a keyslot should be made again with a newer version. Asks the service at most once a day.
    func shouldUpgrade(_ slot: Keyslot, of account: Account) async -> Bool {
        guard let version = slot.keyServiceProtocol, version < Self.newestProtocol,
            let service = try? services.oprf(account.keyServiceURL)
        else { return false }
        let (versions, url) = (ServiceVersions(store: store), account.keyServiceURL)
        do {
            if let known = try await versions.present(url, below: Self.newestProtocol, at: clock.now) {
                return known > version
            }
            let newest = Self.newest(of: (try? await service.protocolVersions()) ?? [1])
            try await versions.note(url, newest, at: clock.now)
            return newest > version
        } catch {
            return false
        }
    }

    /// The newest version that this program speaks.
    private static let newestProtocol = 2

    /// The newest version that a service and this program both speak.
    private static func newest(of versions: some Collection<Int>) -> Int {
        versions.filter { (1...newestProtocol).contains($0) }.max() ?? 1
    }
}

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
