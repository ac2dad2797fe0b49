internal import VaultCrypto

/// What the vault knows of one kind of keyslot. Each kind has a file of its own beside this one, and a line in ``all``.
struct KeyslotTraits: Sendable {
    /// What checks the secret.
    enum Check: Sendable {
        /// A person types the secret, and the key service counts wrong ones.
        case keyService
        /// Hardware checks its own PIN.
        case hardware
        /// Nothing but the cost of a guess: the password is typed, and no server is asked.
        case nothing
    }

    /// The kinds that the vault knows. An app's own `BiometricProvider` may have another one.
    static let all: [KeyslotTraits] = [.password, .pin, .recovery, .offline, .pkcs11, .tpm2, .fido2]

    let kind: Keyslot.Kind
    /// What a person calls it.
    let displayName: String
    let check: Check
    /// What to call it in a list, where that is something else.
    var listName: String?
    /// What a person types for it, for the text of an error.
    var secretName = "password"
    /// Whether it opens with the account's password, and so changes with it.
    var isOfPassword = false
    /// Whether the hardware has no PIN of its own, and gets the one that the person chooses.
    var takesNewPIN = false
    /// Brings what was typed into the form that is stretched.
    var prepared: @Sendable (borrowing SecretBytes) throws -> SecretBytes = { try $0.copy() }
}

extension Keyslot.Kind {
    /// The kinds that the vault knows, each with a name for people. Hardware of an app's own may have another kind.
    public static var known: [Keyslot.Kind] { KeyslotTraits.all.map(\.kind) }

    /// A kind that the vault does not know is hardware.
    var traits: KeyslotTraits {
        KeyslotTraits.all.first { $0.kind == self }
            ?? KeyslotTraits(kind: self, displayName: rawValue, check: .hardware)
    }

    /// What a person calls it.
    public var displayName: String { traits.displayName }

    /// Whether hardware opens it. Of such a kind an account may have several: one for each piece of hardware.
    public var isHardware: Bool { traits.check == .hardware }

    /// Whether it opens with the account's password, and so changes with it.
    public var isOfPassword: Bool { traits.isOfPassword }

    /// Whether the hardware has no PIN of its own, and gets the one that the person chooses.
    public var takesNewPIN: Bool { traits.takesNewPIN }

    /// Whether a person types its secret, and the key service checks it.
    var isTyped: Bool { traits.check == .keyService }

    /// What a person types for it, for the text of an error.
    var secretName: String { traits.secretName }
}
