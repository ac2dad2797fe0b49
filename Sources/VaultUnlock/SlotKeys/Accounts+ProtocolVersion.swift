internal import KeyServiceClient
internal import VaultBase
internal import VaultStorage

// The version of the key service's protocol for new keyslots.
extension Accounts {
    /// Whether new keyslots speak version 2.
    func hasOPRF(_ account: Account) async throws -> Bool {
        let url = account.keyServiceURL
        let isKnown = account.keyslots.contains { $0.isOPRF }
        guard let service = try services.oprf(url) else {
            if isKnown { _ = try oprfKeys(at: url) }
            try requireAllowed(keyServiceProtocol: 1)
            return false
        }
        guard !isKnown else { return true }
        let versions = ServiceVersions(store: store)
        if try await service.protocolVersions().contains(2) {
            try? await versions.note(url, isOPRF: true, at: clock.now)
        } else {
            guard (try? await versions.isOPRF(url)) == true else {
                try requireAllowed(keyServiceProtocol: 1)
                if account.keyslots.isEmpty { try requireMayBeNew(keyServiceProtocol: 1, at: url) }
                return false
            }
        }
        return true
    }

    /// Refuses a key service whose protocol is too old for a new account.
    func checkKeyServiceProtocol() async throws {
        guard newAccountProtocol > 1, let service = try services.oprf(keyServiceURL),
            (try? await ServiceVersions(store: store).isOPRF(keyServiceURL)) != true,
            try await !service.protocolVersions().contains(2)
        else { return }
        try requireMayBeNew(keyServiceProtocol: 1, at: keyServiceURL)
    }

    /// Whether a keyslot of version 1 should be made again with version 2. Asks the service at most once a day.
    func shouldUpgrade(_ slot: Keyslot, of account: Account) async -> Bool {
        guard slot.keyServiceProtocol == 1, let service = try? services.oprf(account.keyServiceURL) else {
            return false
        }
        let (versions, url) = (ServiceVersions(store: store), account.keyServiceURL)
        do {
            if let known = try await versions.present(url, at: clock.now) { return known }
            let isOPRF = (try? await service.protocolVersions().contains(2)) ?? false
            try await versions.note(url, isOPRF: isOPRF, at: clock.now)
            return isOPRF
        } catch {
            return false
        }
    }
}
