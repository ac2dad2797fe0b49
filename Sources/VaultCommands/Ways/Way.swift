internal import CredentialVault

/// One kind of way into an account, as the command offers it: the option that names it, what a person types for it, and how
/// it is added. Each has a file in this folder, and a line in ``all``.
struct Way: Sendable {
    /// In the order in which they are named to a person.
    static let all: [Way] = [.password, .pin, .recovery, .offline, .pkcs11, .tpm2, .fido2]

    let kind: Keyslot.Kind
    /// The option that names it, without its dashes.
    let option: String
    /// What the option does, for `--help`; nil where the option also takes an address (see ``HardwareOptions``).
    var help: String?
    /// What a person types for it; nil for hardware.
    var secret: Secret?
    /// The hardware behind it.
    var hardware: HardwareKind?
    /// What `vault unlock add` does for it; nil for what is not added so.
    var addition: Addition?
    /// Whether an account is opened with it only when its option is given.
    var isOnlyOnRequest = false

    /// What a person types.
    struct Secret: Sendable {
        /// What it is called where it is asked for: `PIN`.
        let name: String
        let method: @Sendable (SharedSecret) -> UnlockMethod
    }

    /// - Returns: nil for hardware that only an app knows.
    static func of(_ kind: Keyslot.Kind) -> Way? { all.first { $0.kind == kind } }
}

extension Keyslot.Kind {
    /// The option that opens an account with it.
    var option: String { "--\(Way.of(self)?.option ?? rawValue)" }
}
