internal import CredentialVault

#if TPM2
    internal import VaultTPM2
#endif

extension MethodKind {
    static let tpm2 = MethodKind(kind: .tpm2, option: "tpm2", hardware: tpm2Hardware, addition: .hardware([.which]))

    private static var tpm2Hardware: HardwareKind {
        #if TPM2
            HardwareKind(
                provider: { request in
                    TPM2Provider(
                        tcti: request.address ?? "device:/dev/tpmrm0", timeLimit: request.limit ?? .seconds(15))
                },
                silence: TPM2Provider.silenceLibraries)
        #else
            .notInThisBuild
        #endif
    }
}
