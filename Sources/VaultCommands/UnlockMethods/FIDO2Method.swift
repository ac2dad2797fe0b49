internal import CredentialVault

#if FIDO2
    internal import VaultFIDO2
#endif

extension MethodKind {
    static let fido2 = MethodKind(
        kind: .fido2, option: "fido2", help: "Open the account with a FIDO2 security key.", hardware: fido2Hardware,
        addition: .hardware())

    private static var fido2Hardware: HardwareKind {
        #if FIDO2
            HardwareKind(provider: { FIDO2Provider(timeLimit: $0.limit ?? .seconds(15)) })
        #else
            .notInThisBuild
        #endif
    }
}
