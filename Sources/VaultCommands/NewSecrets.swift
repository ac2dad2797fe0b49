internal import CredentialVault

// The rules for a new password or PIN: as long as the policy says, and hard to guess.
extension VaultPolicy {
    /// The least number of characters of a new password.
    var passwordLength: Int { max(minimumPasswordLength, NewPasswordRule.minimumLength) }

    /// The least number of characters of a new PIN.
    var pinLength: Int { max(minimumPINLength, PINRule.length.lowerBound) }

    /// - Returns: nil when the password is good enough, or an error that says why not.
    func failure(
        ofNewPassword password: borrowing SecretBytes, of secret: SecretObjection.Secret = .password,
        names: [String] = []
    ) -> VaultError? {
        // A rule that also holds without a policy keeps its own exit status.
        if passwordLength > NewPasswordRule.minimumLength, let objection = objection(to: password, of: secret) {
            return VaultError(
                .forbiddenByPolicy, "\(objection) Choose another one.", objection: objection,
                policyObjection: PolicyObjection(objection))
        }
        return NewPasswordRule.objection(to: password, of: secret, names: names).map {
            VaultError(.passwordUnusable, "\($0) Choose another one.", objection: $0)
        }
    }

    /// - Returns: nil when the PIN is good enough, or an error that says why not.
    func failure(ofNewPIN pin: borrowing SecretBytes, names: [String] = []) -> VaultError? {
        if pinLength > PINRule.length.lowerBound, let objection = objection(toPIN: pin) {
            return VaultError(
                .forbiddenByPolicy, "\(objection) Choose another one.", objection: objection,
                policyObjection: PolicyObjection(objection))
        }
        return PINRule.objection(to: pin, names: names).map {
            VaultError(.passwordUnusable, "\($0) Choose another one.", objection: $0)
        }
    }
}
