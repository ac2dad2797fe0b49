internal import VaultCrypto

/// The properties of one kind of keyslot. Each kind has its own file beside this one, and an entry in ``all``.
struct KeyslotTraits: Sendable {
    /// The part that checks the secret.
    enum Check: Sendable {
        /// A person types the secret, and the key service counts wrong ones.
        case keyService
        /// Hardware checks its own PIN.
        case hardware
        /// No part checks it: the password is typed, no server is asked, and only the cost of a guess protects it.
        case nothing
    }

    /// The kinds that the vault knows. An app's own `BiometricProvider` may add another kind.
    static let all: [KeyslotTraits] = [.password, .pin, .recovery, .offline, .pkcs11, .tpm2, .fido2]

    let kind: Keyslot.Kind
    /// The name of the kind for people.
    let displayName: String
    let check: Check
    /// The name of the kind in a list, if it differs.
    var listName: String?
    /// The name of the typed secret, for the text of an error.
    var secretName = "password"
    /// Whether the kind opens with the account's password, and changes with it.
    var isOfPassword = false
    /// Whether a person can guess the secret. Then a thief with only the disk can use up the guesses, and end the key.
    /// Otherwise the thief cannot.
    var isGuessable = false
    /// Whether the hardware has no PIN yet, and gets the one that the person chooses.
    var takesNewPIN = false
    /// Converts the typed text into the form that is stretched.
    var prepared: @Sendable (borrowing SecretBytes) throws -> SecretBytes = { try $0.copy() }
}

extension Keyslot.Kind {
    /// The kinds that the vault knows, each with a name for people. An app's own hardware may have another kind.
    public static var known: [Keyslot.Kind] { KeyslotTraits.all.map(\.kind) }

    /// An unknown kind counts as hardware.
    var traits: KeyslotTraits {
        KeyslotTraits.all.first { $0.kind == self }
            ?? KeyslotTraits(kind: self, displayName: rawValue, check: .hardware)
    }

    /// The name of the kind for people.
    public var displayName: String { traits.displayName }

    /// Whether hardware opens this kind. An account may have several keyslots of such a kind, one for each device.
    public var isHardware: Bool { traits.check == .hardware }

    /// Whether the kind opens with the account's password, and changes with it.
    public var isOfPassword: Bool { traits.isOfPassword }

    /// Whether the hardware has no PIN yet, and gets the one that the person chooses.
    public var takesNewPIN: Bool { traits.takesNewPIN }

    /// Whether a person types the secret and the key service checks it.
    var isTyped: Bool { traits.check == .keyService }

    /// Whether a person can guess the secret.
    var isGuessable: Bool { traits.isGuessable }

    /// The name of the typed secret, for the text of an error.
    var secretName: String { traits.secretName }
}
