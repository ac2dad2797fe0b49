internal import VaultBase
package import VaultBiometric
package import VaultCrypto
package import VaultStorage

// Accounts without a key service: one person on one machine. Nobody counts the guesses of a thief who has the disk, and
// nobody can end an unlock method of an old copy.

/// The unlock method of a new account.
package enum FirstUnlockMethod: Sendable {
    /// A new password.
    ///
    /// - skipsNewPasswordRule: whether the password may be easy to guess.
    case password(SharedSecret, skipsNewPasswordRule: Bool)
    /// Hardware that counts wrong PINs itself, and lets nobody reset the count. Only for an account without a key
    /// service.
    ///
    /// - skipsPINRule: whether the PIN that a TPM gets may be easy to guess.
    case hardware(any BiometricProvider, any BiometricPrompt, skipsPINRule: Bool)

    /// Lets hardware forget the secret of a keyslot that was not stored.
    func forget(_ slot: Keyslot) async {
        guard case .hardware(let provider, _, _) = self, let protected = try? slot.protectedSecret() else { return }
        await provider.forget(protected)
    }
}

extension Accounts {
    /// Refuses a new account if the settings name no key service, and do not say either that there is none. An account
    /// must not lose the count of guesses because a setting is missing.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid`.
    func requireChoiceOfKeyService() throws {
        guard keyServiceURL.isEmpty != registersWithoutKeyService else { return }
        throw VaultError(
            .configurationInvalid,
            keyServiceURL.isEmpty
                ? "No key service is set for new accounts."
                : "The settings name a key service, and say that new accounts have none.")
    }

    /// Refuses an unlock method that the rules forbid for a new account.
    ///
    /// - Parameter names: the person's names.
    func require(_ first: FirstUnlockMethod, of names: [String]) throws {
        switch first {
        case .password(let password, let skipsNewPasswordRule):
            try requireNewPassword(password.bytes, of: names, skipsNewPasswordRule: skipsNewPasswordRule)
        case .hardware(let provider, _, _):
            guard keyServiceURL.isEmpty else {
                throw VaultError(
                    .configurationInvalid, "An account with a key service begins with a password. Add hardware later.")
            }
            let kind = Keyslot.Kind(rawValue: provider.kind)
            try requireAllowed(kind, .offline)
            guard kind.isHardware else {
                throw VaultError(.configurationInvalid, "A \(kind.displayName) needs a key service.")
            }
        }
    }

    /// Makes the keyslot of a new account. Stores nothing.
    func firstKeyslot(
        _ first: FirstUnlockMethod, of account: Account, _ names: [String], _ vaultKey: VaultKey
    ) async throws -> Keyslot {
        switch first {
        case .password(let password, _):
            return try await typedSlot(.password, password.bytes, account, vaultKey)
        case .hardware(let provider, let prompt, let skipsPINRule):
            let kind = Keyslot.Kind(rawValue: provider.kind)
            let rules = NewPINPrompt(base: prompt, policy: policy, names: names, skipsPINRule: skipsPINRule)
            do {
                let draft = try await KeyslotDraft.hardware(
                    provider, prompt: kind.takesNewPIN ? rules : prompt, needsKeyService: false, at: clock.now)
                return try await LocalKeys().make(draft, for: account, vaultKey: vaultKey)
            } catch {
                throw VaultError.converting(error, unlockMethod: kind)
            }
        }
    }
}

extension Account {
    /// Returns the account at another key service.
    func moved(to url: String) -> Account {
        var moved = self
        moved.keyServiceURL = url
        return moved
    }

    /// Refuses something that only a key service can do, if the account has none.
    ///
    /// - Parameter what: the beginning of a sentence, in the singular.
    /// - Throws: ``VaultError`` with code `configurationInvalid` and the detail `noKeyService`.
    package func requireKeyService(for what: String) throws {
        guard !hasKeyService else { return }
        throw VaultError(
            .configurationInvalid, "\(what) needs a key service, and \(displayName) has none.", detail: .noKeyService,
            value: displayName)
    }

    /// Refuses a new unlock method whose guesses only a key service can count, if the account has none.
    ///
    /// - Throws: as ``requireKeyService(for:)``.
    package func requireKeyService(forNew kind: Keyslot.Kind) throws {
        guard kind != .password, kind != .offline, !kind.isHardware else { return }
        try requireKeyService(for: "A \(kind.displayName)")
    }
}
