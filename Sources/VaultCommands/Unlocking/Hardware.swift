internal import CredentialVault

#if FIDO2
    internal import VaultFIDO2
#endif
#if PKCS11
    internal import VaultPKCS11
#endif
#if TPM2
    internal import VaultTPM2
#endif

/// The hardware that this build can use.
enum Hardware {
    static let kinds = ["pkcs11", "tpm2", "fido2"]

    /// - Parameters:
    ///   - detail: the token's URI, or how to reach the TPM; nil for the usual one.
    ///   - mayMakeKey: whether a token that has no key to use may be given one.
    /// - Throws: `VaultError` with code `configurationInvalid` when this program was built without it.
    static func provider(
        _ kind: String, _ detail: String? = nil, mayMakeKey: Bool = false
    ) throws -> any BiometricProvider {
        switch kind {
        #if PKCS11
            case "pkcs11": return PKCS11Provider(uri: detail ?? "pkcs11:", newKey: mayMakeKey ? .elliptic : nil)
        #endif
        #if TPM2
            case "tpm2": return detail.map { TPM2Provider(tcti: $0) } ?? TPM2Provider()
        #endif
        #if FIDO2
            case "fido2": return FIDO2Provider()
        #endif
        default:
            throw VaultError(
                .configurationInvalid,
                "This vault was built without \(kind). Build it with: swift build --traits \(kind.uppercased())")
        }
    }

    /// Refuses tokens made of software: whoever can read their files can try PINs without end.
    static func requireRealToken(_ uri: String?) async throws {
        #if PKCS11
            let tokens = try await PKCS11Tokens.list(uri: uri ?? "pkcs11:")
            guard tokens.allSatisfy(\.isHardware) else {
                throw VaultError(
                    .configurationInvalid,
                    "This token is made of software, which limits no guesses. It cannot open the account without the key service."
                )
            }
        #endif
    }

    /// Keeps libraries from writing to standard error. To be called before there is a second thread.
    static func silenceLibraries() {
        #if TPM2
            TPM2Provider.silenceLibraries()
        #endif
    }

    /// What is there right now and opens the account.
    static func present(for account: Account) async -> (any BiometricProvider)? {
        for slot in account.keyslots where slot.kind.isHardware {
            guard let provider = try? provider(slot.kind.rawValue),
                let protected = try? HardwareKeyslot.protectedSecret(of: slot)
            else { continue }
            if await provider.availability(of: protected) == .available { return provider }
        }
        return nil
    }

    /// What is to be said of a keyslot: whether its hardware is there.
    static func state(of slot: Keyslot) async -> String {
        guard slot.kind.isHardware else { return "ready" }
        guard let provider = try? provider(slot.kind.rawValue) else { return "not in this build" }
        guard let protected = try? HardwareKeyslot.protectedSecret(of: slot) else { return "damaged" }
        return switch await provider.availability(of: protected) {
        case .available: "ready"
        case .missing: "not plugged in"
        case .lockedOut(let duration): duration.map { "locked for \($0.components.seconds) s" } ?? "locked"
        case .unusable(let reason): reason
        }
    }
}
