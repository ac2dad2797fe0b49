internal import KeyServiceClient
internal import VaultBase
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
        let newest = Self.newest(of: try await service.protocolVersions())
        if newest > 1 {
            try? await versions.note(url, newest, at: clock.now)
            return newest
        }
        if let earlier = try? await versions.newest(url), earlier > 1 { return earlier }
        try requireAllowed(keyServiceProtocol: 1)
        if account.keyslots.isEmpty { try requireMayBeNew(keyServiceProtocol: 1, at: url) }
        return 1
    }

    /// Refuses a key service whose protocol is too old for a new account.
    func checkKeyServiceProtocol() async throws {
        guard newAccountProtocol > 1, let service = try services.oprf(keyServiceURL),
            (try? await ServiceVersions(store: store).newest(keyServiceURL)) ?? 1 == 1,
            Self.newest(of: try await service.protocolVersions()) == 1
        else { return }
        try requireMayBeNew(keyServiceProtocol: 1, at: keyServiceURL)
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
