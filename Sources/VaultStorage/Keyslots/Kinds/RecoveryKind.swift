public import VaultCrypto

extension Keyslot.Kind {
    /// A recovery code, with its key at the key service. It is used only once.
    public static let recovery = Keyslot.Kind(rawValue: "recovery")
}

extension KeyslotTraits {
    // The canonical form is the same, however the code was typed.
    static let recovery = KeyslotTraits(
        kind: .recovery, displayName: "recovery code", check: .keyService, prepared: { try RecoveryCode.canonical($0) })
}

extension UnlockMethod {
    /// The recovery code, in upper or lower case, with or without spaces. Make a new code after its use: see
    /// `Session.addRecoveryCode(_:)`.
    public static func recoveryCode(_ code: SharedSecret) -> UnlockMethod {
        UnlockMethod(.recovery, TypedOpener(secret: code))
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
        try await requireMayAddWay(to: account)
        let code = SharedSecret(try RecoveryCode.random())
        let slot = try await typedSlot(.recovery, code.bytes, account, vaultKey)
        FaultPoint.keyslotMade.reach()
        return (code, slot)
    }
}
