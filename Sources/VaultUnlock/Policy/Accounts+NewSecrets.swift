internal import VaultBiometric
package import VaultCrypto
package import VaultStorage

// The rules for new secrets. The policy's lengths apply always. An app that has its own rules may skip the others.
extension Accounts {
    /// Refuses a new password that is empty, too short for the policy, or easy to guess.
    ///
    /// - Parameters:
    ///   - password: UTF-8.
    ///   - names: the person's names, because a password that is made of them is easy to guess.
    /// - Throws: ``VaultError`` with code `passwordUnusable` or `forbiddenByPolicy`.
    package func requireNewPassword(
        _ password: borrowing SecretBytes, of names: [String], skipsNewPasswordRule: Bool
    ) throws {
        try requireNewPassword(password)
        if !skipsNewPasswordRule { try Self.requireHardToGuess(password, names) }
    }

    /// As ``requireNewPassword(_:of:skipsNewPasswordRule:)``, for the passphrase of a backup.
    func requireNewPassphrase(
        _ passphrase: borrowing SecretBytes, of names: [String], skipsNewPasswordRule: Bool
    ) throws {
        guard passphrase.count > 0 else { throw VaultError(SecretObjection.empty(.passphrase)) }
        if let objection = policy.objection(to: passphrase, of: .passphrase) {
            throw VaultError(tooShortForPolicy: objection)
        }
        if !skipsNewPasswordRule { try Self.requireHardToGuess(passphrase, of: .passphrase, names) }
    }

    /// Refuses a new PIN that is empty, too short for the policy, or easy to guess.
    ///
    /// - Parameters:
    ///   - pin: UTF-8.
    /// - Throws: ``VaultError`` with code `passwordUnusable` or `forbiddenByPolicy`.
    package func requireNewPIN(_ pin: borrowing SecretBytes, of names: [String], skipsPINRule: Bool) throws {
        try requireNewPIN(pin)
        if !skipsPINRule { try PINRule.require(pin, names) }
    }

    private static func requireHardToGuess(
        _ password: borrowing SecretBytes, of secret: SecretObjection.Secret = .password, _ names: [String]
    ) throws {
        guard let objection = NewPasswordRule.objection(to: password, of: secret, names: names) else { return }
        throw VaultError(objection)
    }

    /// Refuses hardware that lets a thief try all PINs.
    ///
    /// - Throws: ``VaultError`` with code `guessesUnlimited`; `BiometricError` if the hardware is missing or does not
    ///   tell.
    func requireGuessLimit(of provider: any BiometricProvider) async throws {
        guard case .absent(let reason) = try await provider.guessLimit() else { return }
        throw VaultError(.guessesUnlimited, reason, unlockMethod: Keyslot.Kind(rawValue: provider.kind))
    }
}

extension PINRule {
    fileprivate static func require(_ pin: borrowing SecretBytes, _ names: [String]) throws {
        guard let objection = objection(to: pin, names: names) else { return }
        throw VaultError(objection)
    }
}

/// Checks a new PIN for a TPM. The TPM itself has no rule for PINs.
struct NewPINPrompt: BiometricPrompt {
    let base: any BiometricPrompt
    let policy: VaultPolicy
    let names: [String]
    let skipsPINRule: Bool

    func pin(_ request: PINRequest) async throws -> SecretBytes {
        let pin = try await base.pin(request)
        try policy.requireLength(ofPIN: pin)
        if !skipsPINRule { try PINRule.require(pin, names) }
        return pin
    }

    func act(_ instruction: String) async { await base.act(instruction) }
}

extension Account {
    /// The names that a new secret of the person must not be made of.
    package var names: [String] { [alias, email, preferredUsername].compactMap(\.self) }
}

extension BackupContents.Account {
    package var names: [String] { [alias, email, preferredUsername].compactMap(\.self) }
}
