#if TPM2
    internal import VaultBiometric
    internal import VaultCrypto

    /// Makes the TPM's authorization value from a PIN.
    enum AuthValue {
        /// A TPM takes an authorization value of at most the size of its digests, 32 bytes here, and drops zero bytes at
        /// its end. So the PIN is hashed to that size: any PIN fits, and no two are the same to the TPM. Hashing makes
        /// guessing no slower, and need not: the TPM counts, and nobody else sees anything to try a PIN on.
        ///
        /// - Throws: ``BiometricError`` with code `failed` for a PIN that cannot be used.
        static func of(pin: borrowing SecretBytes) throws -> SecretBytes {
            let text: SecretBytes
            do {
                text = try Password.opaqueString(pin)
            } catch let error as VaultCryptoError where error.code == .invalidPassword {
                throw BiometricError(
                    .failed, "The PIN is empty or has characters that cannot be used.", underlying: error)
            }
            let hashed = try KeyDerivation.hkdf(text, info: "credential-vault/v1/tpm2-auth-value", count: 32)
            // Dropped here, too, as not every version of the library does when it computes what the TPM computes.
            let size = hashed.withUnsafeBytes { ($0.lastIndex { $0 != 0 } ?? -1) + 1 }
            return try SecretBytes(count: size) { target in
                hashed.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<size])) }
            }
        }
    }
#endif
