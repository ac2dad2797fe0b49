/// The properties of one kind of keyslot. Each kind has an entry in ``all``.
package struct KeyslotTraits: Sendable {
    /// The part that checks the secret.
    package enum Check: Sendable {
        /// A person types the secret, and the key service counts wrong ones.
        case keyService
        /// Hardware checks its own PIN.
        case hardware
        /// The login to the desktop opens the keyring that has the secret. Nobody is asked anything.
        case desktop
        /// No part checks it: the password is typed, no server is asked, and only the cost of a guess protects it.
        case nothing
    }

    /// The kinds that the vault knows. An app's own `BiometricProvider` may add another kind.
    package static let all: [KeyslotTraits] = [
        .password, .pin, .recovery, .offline, .desktop, .pkcs11, .tpm2, .fido2,
    ]

    package let kind: Keyslot.Kind
    /// The name of the kind for people.
    package let displayName: String
    package let check: Check
    /// The name of the kind in a list, if it differs.
    package var listName: String?
    /// The name of the typed secret, for the text of an error.
    package var secretName = "password"
    /// Whether the kind opens with the account's password, and changes with it.
    package var isOfPassword = false
    /// Whether a person can guess the secret. Then a thief with only the disk can use up the guesses, and end the key.
    /// Otherwise the thief cannot.
    package var isGuessable = false
    /// Whether the hardware has no PIN yet, and gets the one that the person chooses.
    package var takesNewPIN = false
}

extension KeyslotTraits {
    static let password = KeyslotTraits(
        kind: .password, displayName: "password", check: .keyService, isOfPassword: true, isGuessable: true)
    static let pin = KeyslotTraits(
        kind: .pin, displayName: "PIN", check: .keyService, secretName: "PIN", isGuessable: true)
    static let recovery = KeyslotTraits(kind: .recovery, displayName: "recovery code", check: .keyService)
    static let offline = KeyslotTraits(
        kind: .offline, displayName: "password", check: .nothing, listName: "password without the network",
        isOfPassword: true)
    static let desktop = KeyslotTraits(kind: .desktop, displayName: "desktop keyring", check: .desktop)
    static let pkcs11 = KeyslotTraits(kind: .pkcs11, displayName: "token", check: .hardware)
    static let tpm2 = KeyslotTraits(kind: .tpm2, displayName: "TPM", check: .hardware, takesNewPIN: true)
    static let fido2 = KeyslotTraits(kind: .fido2, displayName: "security key", check: .hardware)
}

extension Keyslot.Kind {
    /// A password, with its key at the key service.
    public static let password = Keyslot.Kind(rawValue: "password")
    /// A PIN, with its key at the key service.
    public static let pin = Keyslot.Kind(rawValue: "pin")
    /// A recovery code, with its key at the key service. It is used only once.
    public static let recovery = Keyslot.Kind(rawValue: "recovery")
    /// The password without the key service, for use without a network.
    public static let offline = Keyslot.Kind(rawValue: "offline")
    /// The keyring of the desktop, which the login to the desktop opens. Its key seals the long secret of a key at the
    /// key service.
    public static let desktop = Keyslot.Kind(rawValue: "desktop")
    /// A PKCS#11 token. Its key seals the long secret of a key at the key service.
    public static let pkcs11 = Keyslot.Kind(rawValue: "pkcs11")
    /// A TPM 2.0, used in the same way.
    public static let tpm2 = Keyslot.Kind(rawValue: "tpm2")
    /// A FIDO2 security key, used in the same way.
    public static let fido2 = Keyslot.Kind(rawValue: "fido2")
}

extension Keyslot.Kind {
    /// The kinds that the vault knows, each with a name for people. An app's own hardware may have another kind.
    public static var known: [Keyslot.Kind] { KeyslotTraits.all.map(\.kind) }

    /// An unknown kind counts as hardware.
    package var traits: KeyslotTraits {
        KeyslotTraits.all.first { $0.kind == self }
            ?? KeyslotTraits(kind: self, displayName: rawValue, check: .hardware)
    }

    /// The name of the kind for people.
    public var displayName: String { traits.displayName }

    /// Whether hardware opens this kind. An account may have several keyslots of such a kind, one for each device.
    public var isHardware: Bool { traits.check == .hardware }

    /// Whether it opens without a question to the person, for anybody who is logged in to the desktop. Such an unlock
    /// method does not prove who the person is, so it adds and changes no other one.
    public var asksNothing: Bool { traits.check == .desktop }

    /// Whether the kind opens with the account's password, and changes with it.
    public var isOfPassword: Bool { traits.isOfPassword }

    /// Whether the hardware has no PIN yet, and gets the one that the person chooses.
    public var takesNewPIN: Bool { traits.takesNewPIN }

    /// Whether a person types the secret and the key service checks it.
    package var isTyped: Bool { traits.check == .keyService }

    /// Whether a provider protects a random secret: hardware, or the keyring of the desktop.
    package var hasProvider: Bool { isHardware || asksNothing }

    /// Whether a person can guess the secret.
    package var isGuessable: Bool { traits.isGuessable }

    /// The name of the typed secret, for the text of an error.
    package var secretName: String { traits.secretName }
}
