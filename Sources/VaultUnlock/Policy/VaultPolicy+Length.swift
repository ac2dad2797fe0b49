internal import VaultBiometric
public import VaultCrypto
public import VaultStorage

// The policy's rules for new secrets.
extension VaultPolicy {
    /// Checks the length of a new PIN. `PINRule` checks whether a PIN is easy to guess.
    ///
    /// - Parameter pin: UTF-8.
    /// - Returns: nil if the PIN is long enough. Otherwise an objection with code `tooShort` and the least length.
    public func objection(toPIN pin: borrowing SecretBytes) -> SecretObjection? {
        LengthRule(secret: .pin, least: minimumPINLength).objection(toSecret: pin)
    }

    /// Checks the length of a new password.
    ///
    /// - Parameter password: UTF-8.
    /// - Returns: nil if the password is long enough. Otherwise an objection with code `tooShort` and the least length.
    public func objection(toPassword password: borrowing SecretBytes) -> SecretObjection? {
        objection(to: password, of: .password)
    }

    /// As ``objection(toPassword:)``, for a password or a passphrase.
    package func objection(
        to password: borrowing SecretBytes, of secret: SecretObjection.Secret
    ) -> SecretObjection? {
        LengthRule(secret: secret, least: minimumPasswordLength).objection(toSecret: password)
    }

    private struct LengthRule: SecretTextRule {
        let secret: SecretObjection.Secret
        let least: Int

        /// Bytes that are not text have no length. Other code refuses them.
        func objection(toSecret bytes: borrowing SecretBytes) -> SecretObjection? {
            let objection = objection(toSecret: bytes, invalid: .notText(secret))
            return objection?.code == .notText ? nil : objection
        }

        func objection(to text: some BidirectionalCollection<Character>) -> SecretObjection? {
            guard text.count < least else { return nil }
            return SecretObjection(
                .tooShort, of: secret, least: least,
                "The \(secret.word) is too short. It needs at least \(least) characters.")
        }
    }
}
