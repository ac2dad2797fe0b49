public import Foundation
internal import KeyService
internal import OpenIDConnect
internal import VaultBiometric
internal import VaultCrypto
public import VaultStorage

extension Accounts {
    /// Opens an account: with a typed secret one Argon2id here and one call to the key service, where a wrong one costs a
    /// guess; with hardware its own check of the PIN first, and then one call.
    ///
    /// - Throws: ``VaultError``: `wrongSecret`, `keyLocked`, `keyMissing`, `keyServiceUnavailable`; `notEnrolled` when the
    ///   account has no such way in; with hardware `hardwareMissing`, `hardwareReplaced`, `hardwareLocked`,
    ///   `hardwareFailed` and `cancelled`; without the network `tooManyAttempts` and `offlineTooLong`.
    public func open(_ account: Account, with method: UnlockMethod) async throws -> VaultKey {
        do {
            let slot = try await slot(of: account, for: method)
            do {
                let vaultKey = try await opened(slot, of: account, with: method)
                if slot.kind.isHardware { try await requireRight(vaultKey, of: account) }
                // Only for the person to look at: it must not keep anybody out.
                try? await store.apply([.noteUse(ofKeyslot: slot.id, clock.now)], to: account.id)
                return vaultKey
            } catch let error as KeyServiceError {
                try? await KeyLocks(store: store, account: account.id).note(error, for: slot, now: clock.now)
                throw VaultError(error, secret: method.kind, ways: account.keyslots.map(\.kind))
            }
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// The keyslots whose keys were locked at the key service when they were tried last on this machine, by their ids. The
    /// service is not asked: it would take a guess.
    public func lockedKeyslots(of account: Account) async -> Set<String> {
        (try? await KeyLocks(store: store, account: account.id).locked(of: account)) ?? []
    }

    private func slot(of account: Account, for method: UnlockMethod) async throws -> Keyslot {
        guard case .hardware(let provider, _) = method else { return try slot(of: account, method.kind) }
        return try await hardwareSlot(of: account, provider)
    }

    private func opened(_ slot: Keyslot, of account: Account, with method: UnlockMethod) async throws -> VaultKey {
        switch method {
        case .password(let secret), .pin(let secret), .recoveryCode(let secret):
            return try await SecretKeyslot.open(
                slot, of: account, secret: secret.bytes, keyService: keyService(account.keyServiceURL), cost: argon2)
        case .hardware(let provider, let prompt):
            if !slot.needsKeyService { try requireRecentlyOnline(account) }
            return try await HardwareKeyslot.open(
                slot, of: account, provider: provider, prompt: prompt, keyService: keyService(account.keyServiceURL))
        case .offline(let password):
            return try await openedOffline(slot, of: account, password)
        }
    }

    /// A keyslot is worth what its hardware proves, and some can be made by anybody: for a token, its public key is enough.
    /// So the vault key has to open what it sealed already, or what is sealed with it from now on could be somebody else's.
    /// What is typed nobody else has: there, damage to what was sealed is no reason to keep a person out.
    private func requireRight(_ vaultKey: VaultKey, of account: Account) async throws {
        do {
            // Every account has its claims from the start.
            if try await TokenItems(store: store, id: account.id, vaultKey: vaultKey).claims() != nil { return }
        } catch let error as StoreError where error.code == .corrupt {}
        guard let current = try await store.account(account.id) else {
            throw VaultError(.accountNotFound, "The account \(account.id) is not there any more.")
        }
        guard current.deviceSecret == account.deviceSecret else {
            throw VaultError(.busy, "Another program changed the account meanwhile. Try again.")
        }
        throw VaultError(
            .storeCorrupt,
            "What opens \(account.displayName) so does not open what is stored of it: something changed the store. Nothing was deleted; another way in may still work. See: vault unlock list"
        )
    }

    private func slot(of account: Account, _ kind: Keyslot.Kind) throws -> Keyslot {
        if let slot = account.keyslot(kind) { return slot }
        guard account.damagedKeyslots.isEmpty else {
            throw VaultError(
                .storeCorrupt,
                "A way into \(account.displayName) is damaged. Nothing was deleted; another way in may still work. See: vault unlock list"
            )
        }
        guard kind == .password || kind == .offline else {
            throw VaultError(
                .notEnrolled, "\(account.displayName) has no \(kind.displayName): see \"vault unlock add\".")
        }
        throw VaultError(
            .notEnrolled,
            kind == .offline
                ? "\(account.displayName) cannot be opened without the network: see \"vault unlock add offline\"."
                : "\(account.displayName) has no password: another way in opens it.")
    }

    /// Of several keyslots of one kind, the one whose hardware is there.
    private func hardwareSlot(of account: Account, _ provider: any BiometricProvider) async throws -> Keyslot {
        let kind = Keyslot.Kind(rawValue: provider.kind)
        let slots = account.keyslots.filter { $0.kind == kind }
        for slot in slots {
            guard let protected = try? HardwareKeyslot.protectedSecret(of: slot) else { continue }
            if await provider.availability(of: protected) == .available { return slot }
        }
        // The first one says best what is missing.
        return try slots.first ?? slot(of: account, kind)
    }

    // MARK: - Without the network

    private func openedOffline(
        _ slot: Keyslot, of account: Account, _ password: SharedSecret
    ) async throws -> VaultKey {
        try requireRecentlyOnline(account)
        let guesses = OfflineGuesses(store: store, account: account.id)
        let vaultKey = try await guesses.charge(now: clock.now) {
            try await OfflineKeyslot.open(slot, of: account, password: password.bytes, cost: offlineCost)
        }
        guard let vaultKey else { throw VaultError(.wrongSecret, "Wrong password.") }
        return vaultKey
    }

    /// Until when the account opens without the network; nil when it has no such way in. It may be over already.
    public func endOfOpeningOffline(_ account: Account) -> Date? {
        account.opensOffline ? (account.lastOnlineAt ?? account.createdAt) + offlineMaximumAge : nil
    }

    private func requireRecentlyOnline(_ account: Account) throws {
        let (now, last) = (clock.now, account.lastOnlineAt ?? account.createdAt)
        // A clock that was put back makes it no younger than it was made.
        guard now <= last + offlineMaximumAge, now >= account.createdAt - 86_400 else {
            throw VaultError(
                .offlineTooLong,
                "\(account.displayName) was online last on \(last.formatted(.iso8601)), which is too long ago to be opened without the network. Log in with the network and another way in, or allow a longer time: --offline-max-age DAYS."
            )
        }
    }
}
