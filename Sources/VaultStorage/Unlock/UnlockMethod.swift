public import VaultBiometric
public import VaultCrypto

/// What somebody opens an account with. Each has a keyslot of its own kind, and a key of its own at the key service:
/// locking one leaves the others.
public enum UnlockMethod: Sendable {
    /// The password, as typed, UTF-8.
    case password(SharedSecret)
    /// The PIN, likewise.
    case pin(SharedSecret)
    /// The recovery code, in upper or lower case, with or without its spaces. It is to be replaced after it was used: see
    /// ``Accounts/makeRecoveryKeyslot(for:vaultKey:)``.
    case recoveryCode(SharedSecret)
    /// A hardware token, TPM or security key, with what asks the person for its PIN.
    case hardware(any BiometricProvider, any BiometricPrompt)
    /// The password, without the key service.
    case offline(SharedSecret)

    /// The kind of the keyslots that it opens.
    public var kind: Keyslot.Kind {
        switch self {
        case .password: .password
        case .pin: .pin
        case .recoveryCode: .recovery
        case .hardware(let provider, _): Keyslot.Kind(rawValue: provider.kind)
        case .offline: .offline
        }
    }

    /// As the case of the same name, with a copy of the password.
    public static func password(_ password: borrowing SecretBytes) throws -> UnlockMethod {
        .password(SharedSecret(try password.copy()))
    }

    /// As the case of the same name, with a copy of the PIN.
    public static func pin(_ pin: borrowing SecretBytes) throws -> UnlockMethod {
        .pin(SharedSecret(try pin.copy()))
    }

    /// As the case of the same name, with a copy of the code.
    public static func recoveryCode(_ code: borrowing SecretBytes) throws -> UnlockMethod {
        .recoveryCode(SharedSecret(try code.copy()))
    }

    /// As the case of the same name, with a copy of the password.
    public static func offline(_ password: borrowing SecretBytes) throws -> UnlockMethod {
        .offline(SharedSecret(try password.copy()))
    }
}

extension Keyslot.Kind {
    /// What a person calls it.
    public var displayName: String {
        switch self {
        case .password, .offline: "password"
        case .pin: "PIN"
        case .recovery: "recovery code"
        case .pkcs11: "token"
        case .tpm2: "TPM"
        case .fido2: "security key"
        default: rawValue
        }
    }

    /// Whether a person types its secret, and the key service checks it.
    var isTyped: Bool { [.password, .pin, .recovery].contains(self) }

    /// Whether an account has several of the kind: one for each piece of hardware.
    public var isHardware: Bool { !isTyped && self != .offline }
}

extension Account {
    /// The ids of the keyslots of some kinds, the damaged ones, too.
    func keyslotIDs(where isMeant: (Keyslot.Kind) -> Bool) -> [String] {
        keyslots.filter { isMeant($0.kind) }.map(\.id) + damagedKeyslots.filter { isMeant($0.kind) }.map(\.id)
    }

    /// Whether there is a way in that needs no key service.
    public var opensOffline: Bool { keyslots.contains { !$0.needsKeyService } }

    /// Whether it was opened without the key service on this machine, and not online since.
    public var wasOpenedOffline: Bool {
        let last = keyslots.filter { !$0.needsKeyService }.compactMap(\.lastUsedAt).max()
        return last.map { $0 > lastOnlineAt ?? createdAt } ?? false
    }
}
