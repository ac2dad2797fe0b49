internal import CredentialVault

#if PKCS11
    internal import VaultPKCS11
#endif

extension MethodKind {
    static let pkcs11 = MethodKind(
        kind: .pkcs11, option: "pkcs11", hardware: pkcs11Hardware, addition: .hardware([.which, .makeKey]))

    private static var pkcs11Hardware: HardwareKind {
        #if PKCS11
            HardwareKind(
                provider: { request in
                    PKCS11Provider(
                        uri: request.address ?? "pkcs11:", newKey: request.mayMakeKey ? .elliptic : nil,
                        timeLimit: request.limit ?? .seconds(60))
                },
                silence: PKCS11Provider.silenceLibraries)
        #else
            .notInThisBuild
        #endif
    }
}
