internal import VaultBiometric
public import VaultCrypto
public import VaultStorage

// The policy's rules for new secrets.
extension VaultPolicy {
    /// Checks the length of a new PIN. `PINRule` checks whether a PIN is easy to guess.
    ///
    /// - Parameter pin: UTF-8.
    /// - Returns: nil if the PIN is long enough. Otherwise a sentence with the least length.
    public func objection(toPIN pin: borrowing SecretBytes) -> String? {
        LengthRule(least: minimumPINLength).isBroken(by: pin)
            ? "The PIN is too short. It needs at least \(minimumPINLength) characters." : nil
    }

    /// Checks the length of a new password.
    ///
    /// - Parameter password: UTF-8.
    /// - Returns: nil if the password is long enough. Otherwise a sentence with the least length.
    public func objection(toPassword password: borrowing SecretBytes) -> String? {
        LengthRule(least: minimumPasswordLength).isBroken(by: password)
            ? "The password is too short. It needs at least \(minimumPasswordLength) characters." : nil
    }

    private struct LengthRule: SecretTextRule {
        let least: Int

        /// Bytes that are not text have no length. Other code refuses them.
        func isBroken(by secret: borrowing SecretBytes) -> Bool {
            objection(toSecret: secret, invalid: "") == Self.tooShort
        }

        func objection(to text: some BidirectionalCollection<Character>) -> String? {
            text.count < least ? Self.tooShort : nil
        }

        private static let tooShort = "too short"
    }
}
