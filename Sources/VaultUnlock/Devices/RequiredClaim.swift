internal import KeyServiceClient
internal import VaultBase
internal import VaultCrypto
package import VaultStorage

/// The claim of a new key at a key service that ends unclaimed keys. The key is claimed before its keyslot is stored,
/// so that no keyslot loses its key.
struct RequiredClaim: Sendable {
    let service: any DeviceListService
    /// Returns a valid access token of the owner. Nil if the claim follows with the token of the login that runs now.
    let token: @Sendable (_ vaultKey: VaultKey) async throws -> OwnerToken?
    /// Whether such a token is at hand, without a request to the provider.
    let hasToken: @Sendable (_ vaultKey: VaultKey) async throws -> Bool

    /// Claims a key.
    ///
    /// - Returns: false if the claim must follow.
    func send(_ signature: [UInt8], of key: String, with token: OwnerToken?) async throws -> Bool {
        guard let token else { return false }
        try await service.claimKey(id: key, signature: signature, accessToken: token)
        return true
    }
}

extension Accounts {
    /// Returns the claim that a new key of an account needs; nil if the key service keeps unclaimed keys.
    ///
    /// - Throws: `KeyServiceError`. ``VaultError`` with code `configurationInvalid` if no access token may go to the
    ///   key service: its new keys would end after a while, and their unlock methods with them.
    func requiredClaim(of account: Account) async throws -> RequiredClaim? {
        guard let service = try services.deviceLists(account.keyServiceURL), try await service.claimTime() != nil else {
            return nil
        }
        guard listsDevices else { throw VaultError.mustListDevices }
        return RequiredClaim(
            service: service,
            token: { vaultKey in
                guard let token = try await tokenForClaim(of: account, vaultKey) else { return nil }
                return try await ownerToken(of: account, token, vaultKey)
            },
            hasToken: { vaultKey in
                try await tokenForClaim(of: account, vaultKey).map { isFit($0, for: account) } ?? false
            })
    }

    /// Refuses a new key that the key service would end, before a person types anything. Passes if the key service does
    /// not answer in time, or may make a key of version 1.
    ///
    /// - Throws: ``VaultError`` as ``requiredClaim(of:)``.
    package func requireClaims(of account: Account, within limit: Duration) async throws {
        guard !listsDevices, !account.oprfKeys.isEmpty, (try? requireAllowedServers(of: account)) != nil,
            let service = try? services.deviceLists(account.keyServiceURL)
        else { return }
        let time = await within(limit, timer) { () async -> Duration? in try? await service.claimTime() }
        if (time ?? nil) != nil { throw VaultError.mustListDevices }
    }

    func tokenForClaim(of account: Account, _ vaultKey: VaultKey) async throws -> AccessToken? {
        var known = tokenAtHand
        // A new registration has a new vault key, which does not open the tokens of the old one.
        if known == nil {
            let vaultKey = presentVaultKey ?? vaultKey
            let items = TokenItems(store: store, id: account.id, vaultKey: vaultKey)
            do { known = try await items.accessToken() } catch {
                throw await explained(error, vaultKey, of: account.id)
            }
        }
        guard let token = known, token.isValid(for: .seconds(30), at: clock.now) else {
            guard claimsLater else {
                throw VaultError(
                    .notLoggedIn,
                    "The key service ends new keys that are not on the list of your devices, and no valid access token is stored to list this one. Log in, then try again.",
                    detail: .sessionClosed)
            }
            return nil
        }
        return token
    }
}

extension VaultError {
    /// The error if a new key would end because nobody claims it. The key is not used.
    static var claimTimeWasHidden: VaultError {
        VaultError(
            .keyServiceUnavailable,
            "The key service ends new keys that are not on the list of your devices, but its first answer did not say so. Somebody may have changed this answer, or the settings of the key service have just changed. Try again later, or in another network."
        )
    }

    /// The error if a key service needs an access token that the settings do not allow to send.
    static var mustListDevices: VaultError {
        VaultError(
            .configurationInvalid,
            "The key service ends new keys that are not on the list of your devices, and the settings do not list this machine.",
            detail: .devicesNotListed)
    }
}
