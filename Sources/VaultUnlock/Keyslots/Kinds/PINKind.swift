public import VaultCrypto
package import VaultStorage

extension UnlockMethod {
    /// The PIN, as typed, UTF-8.
    public static func pin(_ pin: SharedSecret) -> UnlockMethod { UnlockMethod(.pin, .typed(pin)) }

    /// As ``pin(_:)-(SharedSecret)``. It takes over a PIN that nobody else needs, so there is no second copy.
    public static func pin(consuming pin: consuming SecretBytes) -> UnlockMethod {
        .pin(SharedSecret(pin))
    }

    /// As ``pin(_:)``, with a copy of the PIN.
    ///
    /// - Throws: `VaultCryptoError` with code `outOfMemory`.
    public static func pin(_ pin: borrowing SecretBytes) throws -> UnlockMethod {
        .pin(SharedSecret(try pin.copy()))
    }
}

extension Accounts {
    /// Adds a PIN. Replaces the account's old PIN.
    ///
    /// - Parameters:
    ///   - pin: as typed, UTF-8.
    ///   - vaultKey: the account's vault key, from another unlock method.
    ///   - skipsPINRule: whether the PIN may be easy to guess.
    /// - Throws: ``VaultError`` with code `passwordUnusable` or `forbiddenByPolicy` (choose another PIN), `busy` (try
    ///   again), `keyServiceUnavailable` (try again later), `configurationInvalid` (correct the setting),
    ///   `storeUnreadable` (free disk space), or `storeCorrupt` (restore a backup). Then nothing was changed.
    @discardableResult
    package func addPIN(
        _ pin: borrowing SecretBytes, to account: Account, vaultKey: VaultKey, skipsPINRule: Bool = false
    ) async throws -> Keyslot {
        try requireNewPIN(pin, of: account.names, skipsPINRule: skipsPINRule)
        return try await addTyped(.pin, pin, to: account, vaultKey: vaultKey)
    }

    /// Removes the PIN, if there is one. See ``removeKeyslot(_:of:)``.
    ///
    /// - Throws: ``VaultError`` with code `lastUnlockMethod` if no other unlock method opens the account with the
    ///   network: add one first. Then nothing was changed.
    package func removePIN(of account: AccountID) async throws {
        try await remove(from: account) { $0.keyslotIDs { $0 == .pin } }
    }
}
