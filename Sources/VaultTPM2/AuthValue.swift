#if TPM2
    internal import VaultBiometric
    internal import VaultCrypto

    /// The TPM's authorization value, made from a PIN.
    enum AuthValue {
        /// Hashes the PIN. The TPM takes an authorization value of at most 32 bytes, the size of its digests, and drops
        /// zero bytes at its end. With the hash, any PIN fits, and no two are the same. A slow hash is not needed: only
        /// the TPM can test a PIN, and it counts.
        ///
        /// - Throws: ``BiometricError`` with code `failed` for a PIN that cannot be used.
        static func of(pin: borrowing SecretBytes) throws -> SecretBytes {
            let text: SecretBytes
            do {
                text = try Password.opaqueString(pin)
            } catch let error as VaultCryptoError where error.code == .invalidPassword {
                throw BiometricError(
                    .failed, "The PIN is empty or has forbidden characters.", underlying: error)
            }
            let hashed = try KeyDerivation.hkdf(text, info: "credential-vault/v1/tpm2-auth-value", count: 32)
            // Zero bytes are dropped here, too, as some versions of the library keep them.
            let size = hashed.withUnsafeBytes { ($0.lastIndex { $0 != 0 } ?? -1) + 1 }
            return try SecretBytes(count: size) { target in
                hashed.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<size])) }
            }
        }
    }
#endif
