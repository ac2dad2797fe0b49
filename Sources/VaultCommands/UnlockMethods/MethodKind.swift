internal import CredentialVault

/// One kind of unlock method of an account: its option, its secret, and how to add it. Each kind has a file in this
/// folder, and an entry in ``all``.
struct MethodKind: Sendable {
    /// All methods, in the order that a person sees.
    static let all: [MethodKind] = [.password, .pin, .recovery, .offline, .pkcs11, .tpm2, .fido2]

    let kind: Keyslot.Kind
    /// The option that names it, without its dashes.
    let option: String
    /// The text for `--help`; nil if the option also takes an address (see ``HardwareOptions``).
    var help: String?
    /// The name of the secret that a person types, as in its prompt; nil for hardware.
    var secretName: String?
    /// The hardware behind it.
    var hardware: HardwareKind?
    /// How `vault unlock add` adds it; nil if that cannot add it.
    var addition: Addition?
    /// Whether it opens an account only if its option is given.
    var isOnlyOnRequest = false

    /// - Returns: nil for hardware of an app, which this command does not know.
    static func of(_ kind: Keyslot.Kind) -> MethodKind? { all.first { $0.kind == kind } }
}

extension Keyslot.Kind {
    /// The option that opens an account with it.
    var option: String { "--\(MethodKind.of(self)?.option ?? rawValue)" }
}
