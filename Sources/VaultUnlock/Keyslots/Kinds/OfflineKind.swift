internal import Foundation
internal import VaultBase
public import VaultCrypto
internal import VaultHTTP
package import VaultStorage

extension UnlockMethod {
    /// The password, without the key service.
    public static func offline(_ password: SharedSecret) -> UnlockMethod {
        UnlockMethod(.offline, OfflineOpener(password: password))
    }

    /// As ``offline(_:)``, with a copy of the password.
    ///
    /// - Throws: `VaultCryptoError` with code `outOfMemory`.
    public static func offline(_ password: borrowing SecretBytes) throws -> UnlockMethod {
        .offline(SharedSecret(try password.copy()))
    }
}

/// Opens a keyslot with the password alone.
struct OfflineOpener: KeyslotOpener {
    let password: SharedSecret

    func open(
        _ slot: Keyslot, of account: Account, in accounts: Accounts, spendsLastGuess: Bool
    ) async throws -> OpenedKeyslot {
        try accounts.requireRecentlyOnline(account)
        let guesses = OfflineGuesses(store: accounts.store, account: account.id)
        let vaultKey = try await guesses.charge(now: accounts.clock.now) {
            try await OfflineKeyslot.open(
                slot, of: account, password: password.bytes, cost: accounts.offlineCost)
        }
        guard let vaultKey else { throw VaultError(.wrongSecret, "Wrong password.") }
        return OpenedKeyslot(vaultKey: vaultKey)
    }
}

extension Accounts {
    /// Adds a way in that needs no network: the password alone. Checks the password first.
    ///
    /// A thief who has the disk can then test passwords without limit, and pays one Argon2id for each. So this is never
    /// the default.
    @discardableResult
    package func addOffline(
        password: SharedSecret, to account: Account, vaultKey: VaultKey
    ) async throws -> Keyslot {
        try requireAllowed(.offline)
        try await requirePolicyInSight()
        guard try await open(account, with: .password(password)).isEqual(to: vaultKey) else {
            throw VaultError(
                .storeCorrupt,
                "The password opens another vault key, so the store was changed. Nothing was changed now. Log in again with another way in."
            )
        }
        let slot = try await offlineSlot(password.bytes, account, vaultKey)
        FaultPoint.keyslotMade.reach()
        try await put(slot, in: account, vaultKey)
        return slot
    }

    func offlineSlot(
        _ password: borrowing SecretBytes, _ account: Account, _ vaultKey: VaultKey
    ) async throws -> Keyslot {
        do {
            return try await OfflineKeyslot.make(
                for: account, vaultKey: vaultKey, password: password, parameters: offlineCost, now: clock.now)
        } catch {
            throw VaultError.converting(error)
        }
    }
}
