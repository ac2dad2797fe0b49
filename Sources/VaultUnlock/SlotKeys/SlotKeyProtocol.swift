package import Foundation
package import KeyServiceClient
package import Logging
package import VaultCrypto
package import VaultHTTP
package import VaultStorage

/// How keyslots are made and opened with a key: ``ReleasedKeys`` (protocol version 1 of the key service), ``OPRFKeys``
/// (version 2) or ``LocalKeys`` (no key service). `Accounts.keys(of:_:)` chooses one.
///
/// A conformer must not repeat a guess by itself, and must not assume that the account is still stored: other programs
/// change it meanwhile.
package protocol SlotKeyProtocol: Sendable {
    /// The size of a typed secret after Argon2id, in bytes.
    var inputSize: Int { get }

    /// Makes a key and seals the vault key under it. Stores no keyslot.
    ///
    /// If the caller then cannot store the keyslot, its key must be ended: see `Accounts.discard`.
    ///
    /// - Throws: `KeyServiceError`, `VaultCryptoError`, ``VaultError`` or ``StoreError``.
    func make(_ draft: KeyslotDraft, for account: Account, vaultKey: VaultKey) async throws -> Keyslot

    /// Opens a keyslot with one guess. A guess that was cancelled, or that the key service did not answer, may count.
    ///
    /// - Parameters:
    ///   - input: a typed secret after Argon2id (``inputSize`` bytes), or the secret that hardware gave.
    ///   - spendsLastGuess: whether to send a guess that locks the key if its answer is lost, too.
    /// - Throws: `KeyServiceError`. ``VaultError`` with code `wrongSecret`, `lastGuess` or `busy`. ``StoreError`` with
    ///   code `corrupt` if the secret is right but the stored slot does not open: it was changed.
    func open(
        _ slot: Keyslot, of account: Account, input: SharedSecret, spendsLastGuess: Bool
    ) async throws -> OpenedKeyslot

    /// Ends a key. It opens nothing from then on. A key that has ended already is no error.
    ///
    /// - Throws: `KeyServiceError`.
    func end(_ key: RetiredKey) async throws

    // MARK: - From protocol version 2 on

    /// Sends the confirmations of earlier guesses that the key service does not have yet.
    func sendConfirmations(of account: Account) async

    /// Sends one confirmation.
    ///
    /// - Throws: `KeyServiceError`.
    func confirm(_ confirmation: KeyConfirmation) async throws

    /// Asks the key service whether the owner revoked a key. The question costs no guess.
    ///
    /// - Parameter needsProof: whether only an authenticated answer counts, where there can be one.
    func answer(about slot: Keyslot, of account: Account, needsProof: Bool) async -> RevocationAnswer

    /// Asks a question about guesses that were too young to judge, and notes that it was asked.
    ///
    /// - Parameter tell: tells the person of guesses that stayed open. It runs before the note.
    func ask(
        _ question: LaterQuestion, about slot: Keyslot, of account: Account,
        tell: @escaping @Sendable (_ stayedOpen: [Date]) async -> Void
    ) async
}

/// Keys whose guesses have no confirmation, and whose answers nothing authenticates: those of version 1, and those
/// without a key service. A later version must implement these requirements itself.
package protocol UnconfirmedKeys: SlotKeyProtocol {}

extension UnconfirmedKeys {
    package func sendConfirmations(of account: Account) async {}

    package func confirm(_ confirmation: KeyConfirmation) async throws {}

    package func answer(about slot: Keyslot, of account: Account, needsProof: Bool) async -> RevocationAnswer { .none }

    package func ask(
        _ question: LaterQuestion, about slot: Keyslot, of account: Account,
        tell: @escaping @Sendable (_ stayedOpen: [Date]) async -> Void
    ) async {}
}

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
