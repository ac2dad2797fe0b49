public import VaultCrypto
package import VaultStorage

extension UnlockMethod {
    /// The recovery code, in upper or lower case, with or without spaces. Make a new code after its use: see
    /// `Session.addRecoveryCode(_:)`.
    public static func recoveryCode(_ code: SharedSecret) -> UnlockMethod {
        UnlockMethod(.recovery, .typed(code))
    }

    /// As ``recoveryCode(_:)-(SharedSecret)``. It takes over a code that nobody else needs, so there is no second copy.
    public static func recoveryCode(consuming code: consuming SecretBytes) -> UnlockMethod {
        .recoveryCode(SharedSecret(code))
    }

    /// As ``recoveryCode(_:)``, with a copy of the code.
    ///
    /// - Throws: `VaultCryptoError` with code `outOfMemory`.
    public static func recoveryCode(_ code: borrowing SecretBytes) throws -> UnlockMethod {
        .recoveryCode(SharedSecret(try code.copy()))
    }
}

extension Accounts {
    /// Makes a recovery code and its keyslot. The keyslot opens the account only after ``add(_:to:vaultKey:)``. Show
    /// the code to the person before that.
    package func makeRecoveryKeyslot(
        for account: Account, vaultKey: VaultKey
    ) async throws -> (code: SharedSecret, slot: Keyslot) {
        try requireAllowed(.recovery)
        try await requireMayAddKeyslot(to: account)
        let code = SharedSecret(try RecoveryCode.random())
        let slot = try await typedSlot(.recovery, code.bytes, account, vaultKey)
        FaultPoint.keyslotMade.reach()
        return (code, slot)
    }
}
