internal import ArgumentParser
internal import CredentialVault

/// Which hardware is meant, for opening an account, where it has an address.
struct HardwareOptions: ParsableArguments {
    /// What stands for the address of the settings, where the option has no value.
    private static let usual = "the usual one"

    @Option(
        defaultAsFlag: usual,
        help: ArgumentHelp(
            "Use a PKCS#11 token or smart card; the URI (RFC 7512) says which.", valueName: "uri"))
    var pkcs11: String?

    @Option(
        defaultAsFlag: usual,
        help: ArgumentHelp("Use this machine's TPM 2.0, or the one that tpm2-tss reaches so.", valueName: "tcti"))
    var tpm2: String?

    func validate() throws {
        guard pkcs11 == nil || tpm2 == nil else {
            throw ValidationError("Only one piece of hardware can be named.")
        }
    }

    var kind: Keyslot.Kind? { pkcs11 != nil ? .pkcs11 : tpm2 != nil ? .tpm2 : nil }

    /// Its address; nil for the usual one.
    var address: String? { (pkcs11 ?? tpm2).flatMap { $0 == Self.usual ? nil : $0 } }
}
