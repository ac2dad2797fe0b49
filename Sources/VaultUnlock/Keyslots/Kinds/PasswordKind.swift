public import VaultCrypto
internal import VaultStorage

extension UnlockMethod {
    /// The password, as typed, UTF-8.
    public static func password(_ password: SharedSecret) -> UnlockMethod {
        UnlockMethod(.password, .typed(password))
    }

    /// As ``password(_:)``, with a copy of the password.
    ///
    /// - Throws: `VaultCryptoError` with code `outOfMemory`.
    public static func password(_ password: borrowing SecretBytes) throws -> UnlockMethod {
        .password(SharedSecret(try password.copy()))
    }
}
