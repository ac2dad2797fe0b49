internal import CredentialVault

#if PKCS11
    internal import VaultPKCS11
#endif

#if TPM2
    internal import VaultTPM2
#endif

#if FIDO2
    internal import VaultFIDO2
#endif

// The unlock methods of hardware, each in a build with its package trait.
extension MethodKind {
    static let pkcs11 = MethodKind(
        kind: .pkcs11, option: "pkcs11", hardware: pkcs11Hardware, addition: .hardware([.which, .makeKey]))

    fileprivate static var pkcs11Hardware: HardwareKind {
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

    static let tpm2 = MethodKind(kind: .tpm2, option: "tpm2", hardware: tpm2Hardware, addition: .hardware([.which]))

    fileprivate static var tpm2Hardware: HardwareKind {
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

    static let fido2 = MethodKind(
        kind: .fido2, option: "fido2", help: "Open the account with a FIDO2 security key.", hardware: fido2Hardware,
        addition: .hardware())

    fileprivate static var fido2Hardware: HardwareKind {
        #if FIDO2
            HardwareKind(provider: { FIDO2Provider(timeLimit: $0.limit ?? .seconds(15)) })
        #else
            .notInThisBuild
        #endif
    }
}

extension Hardware {
    /// Keeps libraries from writing to standard error. Call this before a second thread exists. Every start of the
    /// program calls it, so for speed it makes no ``MethodKind``.
    static func silenceLibraries() {
        for hardware in [MethodKind.pkcs11Hardware, MethodKind.tpm2Hardware, MethodKind.fido2Hardware] {
            hardware.silence()
        }
    }
}
