internal import ArgumentParser
internal import CredentialVault

/// How the account is opened.
struct UnlockOptions: ParsableArguments {
    @OptionGroup var password: PasswordOptions

    @Flag var namedMethod: NamedMethod?

    @Flag(
        help: """
            Spend the last guess, although answers of the key service were lost. If this answer is lost, too, the \
            password or PIN is locked. If no answer was lost, the last guess needs no option.
            """)
    var lastGuess = false

    @Option(
        name: .customLong("offline-max-age"),
        help: ArgumentHelp(
            "How many days after the last online use the account opens without the network. (default: the setting offline-max-age, or 14)",
            valueName: "days"),
        transform: Settings.Name.offlineMaxAge.duration)
    var offlineMaximumAge: Duration?

    @OptionGroup var hardware: HardwareOptions

    @OptionGroup var agent: AgentOption

    /// The unlock method that is named.
    var named: Keyslot.Kind? { namedMethod?.kind ?? hardware.kind }

    /// Whether an option names the unlock method.
    var isNamed: Bool { named != nil }

    /// Whether the recovery code opens the account, and is used up by that.
    var usesRecoveryCode: Bool { namedMethod?.kind == .recovery }

    func validate() throws {
        guard namedMethod == nil || hardware.kind == nil else {
            throw ValidationError("Only one unlock method can be named.")
        }
    }
}

/// The options for hardware that has an address.
struct HardwareOptions: ParsableArguments {
    /// The value of an option without a value. It stands for the address of the settings.
    private static let usual = "the usual one"

    @Option(
        defaultAsFlag: usual,
        help: ArgumentHelp(
            "Open the account with a PKCS#11 token or smart card. The URI (RFC 7512) names it.", valueName: "uri"))
    var pkcs11: String?

    @Option(
        defaultAsFlag: usual,
        help: ArgumentHelp(
            "Open the account with this machine's TPM 2.0, or the TPM at a tpm2-tss address.", valueName: "tcti"))
    var tpm2: String?

    func validate() throws {
        guard pkcs11 == nil || tpm2 == nil else {
            throw ValidationError("Only one piece of hardware can be named.")
        }
    }

    var kind: Keyslot.Kind? { pkcs11 != nil ? .pkcs11 : tpm2 != nil ? .tpm2 : nil }

    /// The address of the hardware; nil for the usual one.
    var address: String? { (pkcs11 ?? tpm2).flatMap { $0 == Self.usual ? nil : $0 } }
}
