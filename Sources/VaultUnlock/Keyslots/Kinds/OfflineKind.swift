internal import Foundation
internal import VaultBase
public import VaultCrypto
package import VaultStorage

extension UnlockMethod {
    /// The password, without the key service.
    public static func offline(_ password: SharedSecret) -> UnlockMethod {
        UnlockMethod(.offline, .typed(password))
    }

    /// As ``offline(_:)-(SharedSecret)``. It takes over a password that nobody else needs, so there is no second copy.
    public static func offline(consuming password: consuming SecretBytes) -> UnlockMethod {
        .offline(SharedSecret(password))
    }

    /// As ``offline(_:)``, with a copy of the password.
    ///
    /// - Throws: `VaultCryptoError` with code `outOfMemory`.
    public static func offline(_ password: borrowing SecretBytes) throws -> UnlockMethod {
        .offline(SharedSecret(try password.copy()))
    }
}

extension Accounts {
    /// Adds an unlock method that needs no network: the password alone. Checks the password first. In an account
    /// without a key service, it is a new password.
    ///
    /// A thief who has the disk can then test passwords without limit, and pays one Argon2id for each. So this is never
    /// the default.
    @discardableResult
    package func addOffline(
        password: SharedSecret, to account: Account, vaultKey: VaultKey
    ) async throws -> Keyslot {
        try requireAllowed(.offline)
        guard account.hasKeyService else { return try await addPassword(password, to: account, vaultKey) }
        try await requirePolicyInSight()
        guard try await open(account, with: .password(password)).isEqual(to: vaultKey) else {
            throw VaultError(
                .storeCorrupt,
                "The password opens another vault key, so the store was changed earlier. This call changed nothing. Log in again with another unlock method."
            )
        }
        let slot = try await typedSlot(.offline, password.bytes, account, vaultKey)
        FaultPoint.keyslotMade.reach()
        try await put(slot, in: account, vaultKey)
        return slot
    }

    /// Adds a password to an account without a key service that only hardware opens.
    private func addPassword(
        _ password: SharedSecret, to account: Account, _ vaultKey: VaultKey
    ) async throws -> Keyslot {
        guard account.passwordKeyslot == nil else {
            throw VaultError(
                .configurationInvalid,
                "\(account.displayName) has no key service, so the password opens it without the network already.")
        }
        try requireNewPassword(password.bytes, of: account.names, skipsNewPasswordRule: false)
        return try await addTyped(.password, password.bytes, to: account, vaultKey: vaultKey)
    }
}
