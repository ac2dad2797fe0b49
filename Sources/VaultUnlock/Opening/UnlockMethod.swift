internal import VaultBiometric
public import VaultCrypto
public import VaultStorage

/// The way to open an account: ``password(_:)-(SharedSecret)``, ``pin(_:)-(SharedSecret)``,
/// ``recoveryCode(_:)-(SharedSecret)``, ``hardware(_:_:)``, ``desktop(_:)`` or ``offline(_:)-(SharedSecret)``. Each has
/// its own kind of keyslot and its own key at the key service, so locking one does not lock the others.
///
/// Opening an account throws ``VaultError`` with one of these codes:
/// - `wrongSecret`: ask for the secret again.
/// - `keyLocked`, `keyMissing`, `deviceRevoked`: use another unlock method, or register again.
/// - `keyServiceUnavailable`: try again later.
/// - `notEnrolled`: the account does not have this unlock method. Use another one.
/// - `hardwareMissing`, `hardwareReplaced`: plug in the enrolled hardware.
/// - `hardwareLocked`, `hardwareFailed`: use another unlock method. For a locked keyring of the desktop, the person can
///   also unlock it.
/// - `lastGuess`: answers were lost, and one more lost answer locks the key. Try again in another network, or ask the
///   person and use ``spendingLastGuess``.
/// - `cancelled`: the person cancelled. Ask again, or stop.
/// - `tooManyAttempts`, without the network: wait for ``VaultError/retryAfter``.
/// - `offlineTooLong`: log in with the network.
/// - `forbiddenByPolicy`: use an unlock method that the policy allows.
public struct UnlockMethod: Sendable {
    /// The kind of the keyslots that this method opens.
    public let kind: Keyslot.Kind
    let source: Source
    /// Whether the last guess is spent, too.
    private(set) var spendsLastGuess = false

    /// Where the secret comes from.
    enum Source: Sendable {
        case typed(SharedSecret)
        case hardware(any BiometricProvider, any BiometricPrompt)
    }

    init(_ kind: Keyslot.Kind, _ source: Source) {
        self.kind = kind
        self.source = source
    }

    /// The same method, which also spends the last guess at the key service after answers were lost. If the answer to
    /// it is lost, too, the key is locked: ask the person first.
    public var spendingLastGuess: UnlockMethod {
        var method = self
        method.spendsLastGuess = true
        return method
    }

    /// The typed secret that the key service checks; nil for hardware, and without the network.
    package var typedSecret: SharedSecret? {
        if kind.isTyped, case .typed(let secret) = source { secret } else { nil }
    }

    /// Returns the method for a typed secret that the key service checks; nil for another kind.
    package static func typed(_ kind: Keyslot.Kind, _ secret: SharedSecret) -> UnlockMethod? {
        kind.isTyped ? UnlockMethod(kind, .typed(secret)) : nil
    }

    /// Returns the method for a secret that a person typed, also for the password without the network.
    ///
    /// - Parameter kind: a kind that no hardware opens.
    package static func typing(_ secret: SharedSecret, as kind: Keyslot.Kind) -> UnlockMethod {
        UnlockMethod(kind, .typed(secret))
    }
}

extension UnlockMethod {
    /// The password, as typed, UTF-8.
    public static func password(_ password: SharedSecret) -> UnlockMethod {
        UnlockMethod(.password, .typed(password))
    }

    /// As ``password(_:)-(SharedSecret)``. It takes over a password that nobody else needs, so there is no second copy.
    public static func password(consuming password: consuming SecretBytes) -> UnlockMethod {
        .password(SharedSecret(password))
    }

    /// As ``password(_:)``, with a copy of the password.
    ///
    /// - Throws: `VaultCryptoError` with code `outOfMemory`.
    public static func password(_ password: borrowing SecretBytes) throws -> UnlockMethod {
        .password(SharedSecret(try password.copy()))
    }
}

extension UnlockMethod {
    /// Returns the method that opens an account. If the account has no key service, its password needs no network.
    func opening(_ account: Account) -> UnlockMethod {
        guard kind == .offline, !account.hasKeyService, case .typed(let secret) = source else { return self }
        return .password(secret)
    }

    /// Returns a method that has asked for the PIN, if the hardware is a `PINProvider` and the account has a PIN.
    /// Returns any other method unchanged.
    package func askingForPIN(of account: Account) async throws -> UnlockMethod {
        guard kind == .pin, case .hardware(_, let prompt) = source, account.keyslot(.pin) != nil else { return self }
        let method = try UnlockMethod.pin(await prompt.pin(PINRequest(label: "PIN")))
        return spendsLastGuess ? method.spendingLastGuess : method
    }

    /// Chooses one of several keyslots of one kind: of hardware, the first one whose hardware is there. If there is
    /// none, the first one's error says best what is missing.
    func choose(from slots: [Keyslot]) async -> Keyslot? {
        guard case .hardware(let provider, _) = source else { return slots.first }
        for slot in slots {
            guard let protected = try? slot.protectedSecret() else { continue }
            if await provider.availability(of: protected) == .available { return slot }
        }
        return slots.first
    }

    /// Returns the input of a keyslot: the typed secret after Argon2id, or the secret of the hardware.
    ///
    /// - Parameters:
    ///   - cost: the cost of new keyslots of this kind.
    ///   - size: see ``SlotKeyProtocol/inputSize``.
    func input(
        for slot: Keyslot, of account: Account, cost: Argon2Parameters, size: Int
    ) async throws -> SharedSecret {
        switch source {
        case .typed(let secret): try await slot.stretched(secret, of: account, cost: cost, size: size)
        case .hardware(let provider, let prompt): try await slot.unprotected(by: provider, prompt)
        }
    }
}
