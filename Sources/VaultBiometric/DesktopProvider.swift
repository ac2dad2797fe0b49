public import VaultCrypto

/// The keyring of the desktop in the form of a ``BiometricProvider``. The login to the desktop opens the keyring, so
/// the account opens without a question.
///
/// This is a convenience: the account opens for anybody who is logged in to the desktop, and for each program there.
/// The keyring has a random key, which seals the protected secret. On a stolen disk, the keyring is as strong as the
/// password of the desktop. Each login still needs the key service, so a person can revoke a lost machine.
public struct DesktopProvider: BiometricProvider {
    private let keyring: any DesktopKeyring

    /// - Parameter keyring: the desktop's keyring, for example `SecretService` of the product VaultSecretService.
    public init(_ keyring: any DesktopKeyring) { self.keyring = keyring }

    /// The kind of keyslot that it opens: `desktop`.
    public var kind: String { "desktop" }
    /// False: a thief of the disk can guess the password of the desktop without limit.
    public var limitsGuesses: Bool { false }

    /// Gives `absent`, with the reason. It never throws.
    public func guessLimit() async throws -> GuessLimit {
        .absent(
            "The desktop keyring opens for anybody who is logged in to the desktop, and for each program there. On a "
                + "stolen disk, only the password of the desktop protects it, and nobody counts guesses at that "
                + "password.")
    }

    /// Tells whether the keyring could open the secret now, without a question. A locked keyring is `lockedOut`.
    public func availability(of protected: ProtectedSecret?) async -> BiometricAvailability {
        guard let protected else { return await keyring.availability(of: nil) }
        do {
            return await keyring.availability(of: try DesktopForm(protected.bytes).id)
        } catch {
            return .unusable(DesktopForm.damaged.description)
        }
    }

    /// Puts a new key into the keyring, and seals a secret under it.
    ///
    /// - Parameters:
    ///   - secret: 32 bytes.
    ///   - prompt: is told if the person has to open the keyring. It is never asked for a PIN.
    /// - Returns: the protected secret.
    /// - Throws: ``BiometricError``: `hardwareMissing` without a keyring (use another unlock method), `lockedOut` if
    ///   the keyring stays locked, `timedOut` (try again), `unavailable` or `failed` (see the text).
    ///   `CancellationError` when the task is cancelled.
    public func protect(
        _ secret: borrowing SecretBytes, prompt: any BiometricPrompt
    ) async throws -> ProtectedSecret {
        guard secret.count == 32 else { throw BiometricError(.failed, "The secret does not have 32 bytes.") }
        let key = SharedSecret(try SecretBytes.random(count: 32))
        let form = try DesktopForm(sealing: secret, under: key.bytes)
        await tellIfLocked(nil, prompt)
        try await keyring.store(key, as: form.id)
        // A keyslot whose key is not there would never open.
        guard try await keyring.secrets(of: form.id).contains(where: { $0.bytes.isEqual(to: key.bytes) }) else {
            try? await keyring.remove(form.id)
            throw BiometricError(.failed, "The desktop keyring did not keep the secret. Use another unlock method.")
        }
        return ProtectedSecret(bytes: form.bytes, label: "desktop keyring")
    }

    /// Opens a secret with the key from the keyring.
    ///
    /// - Parameters:
    ///   - protected: the result of ``protect(_:prompt:)``.
    ///   - prompt: is told if the person has to open the keyring. It is never asked for a PIN.
    /// - Returns: the secret, 32 bytes.
    /// - Throws: ``BiometricError``: `hardwareMissing` if there is no keyring, or the key is gone. `hardwareReplaced`
    ///   if another key is in its place. `lockedOut` if the keyring stays locked. `timedOut`: try again. `unavailable`,
    ///   `failed`: the text says why. `CancellationError` when the task is cancelled.
    public func unprotect(_ protected: ProtectedSecret, prompt: any BiometricPrompt) async throws -> SecretBytes {
        let form = try DesktopForm(protected.bytes)
        await tellIfLocked(form.id, prompt)
        let keys = try await keyring.secrets(of: form.id)
        for key in keys {
            if let secret = try form.open(under: key.bytes) { return try secret.bytes.copy() }
        }
        throw keys.isEmpty
            ? BiometricError(
                .hardwareMissing,
                "The desktop keyring does not have the secret of this unlock method. Use another unlock method, then "
                    + "add this one again.")
            : BiometricError(
                .hardwareReplaced,
                "The desktop keyring has another secret for this unlock method. Use another unlock method, then add "
                    + "this one again.")
    }

    /// Removes the key from the keyring, if the keyring is open. Otherwise the key stays there, and opens nothing.
    public func forget(_ protected: ProtectedSecret) async {
        guard let form = try? DesktopForm(protected.bytes) else { return }
        // In a new task: the keyring does nothing for a cancelled task.
        await Task { [keyring] in try? await keyring.remove(form.id) }.value
    }

    /// A locked keyring asks in a window of the desktop, which the person at a terminal may not expect.
    private func tellIfLocked(_ id: String?, _ prompt: any BiometricPrompt) async {
        guard case .lockedOut = await keyring.availability(of: id) else { return }
        await prompt.act("The desktop keyring is locked. Unlock it in its window.")
    }
}
