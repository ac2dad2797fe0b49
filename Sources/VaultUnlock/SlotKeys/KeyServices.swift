package import KeyServiceClient
package import Logging
package import VaultHTTP
internal import VaultStorage

/// The clients of the key services, by base URL. An account keeps the key service that it was registered with.
package struct KeyServices: Sendable {
    /// Returns the client of protocol version 1.
    let released: @Sendable (_ url: String) throws -> any KeyService
    /// Returns the client of protocol version 2; nil if the program has only version 1.
    let oprf: @Sendable (_ url: String) throws -> (any OPRFKeyService)?
    /// Returns the lists of devices; nil if the program has only version 1.
    package var deviceLists: @Sendable (_ url: String) throws -> (any DeviceListService)?

    package init(
        released: @escaping @Sendable (_ url: String) throws -> any KeyService,
        oprf: @escaping @Sendable (_ url: String) throws -> (any OPRFKeyService)? = { _ in nil },
        deviceLists: @escaping @Sendable (_ url: String) throws -> (any DeviceListService)? = { _ in nil }
    ) {
        self.released = released
        self.oprf = oprf
        self.deviceLists = deviceLists
    }
}

extension KeyServices {
    /// Returns the clients over HTTP, or an app's own ones. If the app has a client of version 1 only, there is no version
    /// 2. If its client of version 2 keeps no lists of devices, there are none.
    package static func over(
        _ transport: any HTTPTransport, limits: HTTPLimits, logger: Logger, own: (any KeyService)?,
        ownOPRF: (any OPRFKeyService)?
    ) -> KeyServices {
        @Sendable func endpoint(_ url: String) throws -> KeyServiceEndpoint {
            try KeyServiceEndpoint(baseURL: url, transport: transport, limits: limits, logger: logger)
        }
        let isHTTP = own == nil && ownOPRF == nil
        return KeyServices(
            released: { try own ?? HTTPKeyService(endpoint($0)) },
            oprf: { try ownOPRF ?? (isHTTP ? HTTPOPRFKeyService(endpoint($0)) : nil) },
            deviceLists: {
                isHTTP ? try HTTPDeviceListService(endpoint($0)) : ownOPRF as? any DeviceListService
            })
    }
}

// The choice of the keys of a keyslot. A keyslot whose key is spread over several key services would be chosen here.
extension Accounts {
    /// Returns the keys that a keyslot was made with.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid` if this program does not have its protocol version.
    ///   ``StoreError`` with code `corrupt` if somebody took the key service from the account.
    func keys(of slot: Keyslot, _ account: Account) throws -> any SlotKeyProtocol {
        guard let version = slot.keyServiceProtocol else { return LocalKeys() }
        guard account.hasKeyService else {
            throw StoreError(
                .corrupt,
                "The \(slot.kind.displayName) of \(account.displayName) needs a key service, but the store names none: the store was changed. Restore it from a backup."
            )
        }
        return try keys(version, at: account.keyServiceURL)
    }

    func keys(ofRetired key: RetiredKey) throws -> any SlotKeyProtocol {
        try keys(key.keyServiceProtocol, at: key.keyServiceURL)
    }

    /// Returns the keys for new keyslots of an account.
    ///
    /// A service that had version 2 once, and an account that has a keyslot of version 2, never get version 1 again: a
    /// thief in the network could otherwise hide version 2. A new account gets version 1 only if a setting asks for it.
    ///
    /// - Throws: `KeyServiceError`. ``VaultError`` with code `forbiddenByPolicy` if the policy requires version 2;
    ///   `configurationInvalid` for a new account, or for one without a key service.
    func newKeys(for account: Account) async throws -> any SlotKeyProtocol {
        try account.requireKeyService(for: "A new key")
        let found = try keys(try await protocolVersion(for: account), at: account.keyServiceURL)
        if found is ReleasedKeys { return found }
        guard var keys = found as? OPRFKeys else {
            throw VaultError(.configurationInvalid, "This program makes no keys of this protocol version.")
        }
        keys.trusted = try await trustedIdentities(of: account)
        keys.claim = try await requiredClaim(of: account)
        keys.presentVaultKey = presentVaultKey
        return keys
    }

    /// Returns the keys of a version of the protocol at a key service.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid` if this program does not have the version.
    func keys(_ version: Int, at url: String) throws -> any SlotKeyProtocol {
        if version == 1 { return ReleasedKeys(service: try services.released(url)) }
        guard version == 2, let service = try services.oprf(url) else {
            throw VaultError(
                .configurationInvalid,
                "This unlock method needs protocol version \(version) of the key service, which this program does not have."
            )
        }
        return OPRFKeys(
            store: store, client: OPRFClient(service: service, clock: clock, timer: timer), newClaims: newClaims,
            stopGuard: stopGuard, timeout: timeout)
    }
}
