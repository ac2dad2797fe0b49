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

/// The hardware that this build can use, at the addresses that are given or, by the settings, usual.
///
/// An address may name a library, which then runs in this process. So it never comes out of the store of accounts, which
/// somebody else may have written: a keyslot says which token it needs, and not by what that is reached.
struct Hardware {
    static let kinds = ["pkcs11", "tpm2", "fido2"]

    private let usual: [String: String]

    init(_ settings: Settings) {
        usual = [Settings.Name.pkcs11, .tpm2].reduce(into: [:]) { $0[$1.rawValue] = settings[$1] }
    }

    /// - Parameters:
    ///   - address: the token's URI, or how to reach the TPM; nil for the usual one.
    ///   - mayMakeKey: whether a token that has no key to use may be given one.
    ///   - limit: how long it may take for what needs no person; nil for what such hardware may need.
    /// - Throws: `VaultError` with code `configurationInvalid` when this program was built without it.
    func provider(
        _ kind: String, at address: String? = nil, mayMakeKey: Bool = false, within limit: Duration? = nil
    ) throws -> any BiometricProvider {
        switch kind {
        #if PKCS11
            case "pkcs11":
                return PKCS11Provider(
                    uri: address ?? usual[kind] ?? "pkcs11:", newKey: mayMakeKey ? .elliptic : nil,
                    timeLimit: limit ?? .seconds(60))
        #endif
        #if TPM2
            case "tpm2":
                return TPM2Provider(
                    tcti: address ?? usual[kind] ?? "device:/dev/tpmrm0", timeLimit: limit ?? .seconds(15))
        #endif
        #if FIDO2
            case "fido2": return FIDO2Provider(timeLimit: limit ?? .seconds(15))
        #endif
        default:
            throw VaultError(
                .configurationInvalid,
                "This vault was built without \(kind). Build it with: swift build --traits \(kind.uppercased())")
        }
    }

    /// Keeps libraries from writing to standard error. To be called before there is a second thread.
    static func silenceLibraries() {
        #if TPM2
            TPM2Provider.silenceLibraries()
        #endif
        #if PKCS11
            PKCS11Provider.silenceLibraries()
        #endif
    }

    // MARK: - What is there

    /// How long it may take to find out what is there, before a person is asked for a PIN: what hangs must not keep
    /// anybody from the password.
    static let glance = Duration.seconds(2)

    /// Finds out how the hardware of these keyslots is, of all at once.
    ///
    /// - Parameter limit: how long any of them may take.
    /// - Returns: it by the keyslot's id.
    func availability(of slots: [Keyslot], within limit: Duration) async -> [String: BiometricAvailability] {
        await withTaskGroup(of: (String, BiometricAvailability).self) { group in
            for slot in slots {
                group.addTask { (slot.id, await availability(of: slot, within: limit)) }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }

    private func availability(of slot: Keyslot, within limit: Duration) async -> BiometricAvailability {
        guard let provider = try? provider(slot.kind.rawValue, within: limit) else {
            return .unusable("not in this build")
        }
        guard let protected = try? HardwareKeyslot.protectedSecret(of: slot) else { return .unusable("damaged") }
        return await provider.availability(of: protected)
    }
}

extension BiometricAvailability {
    /// For a list of the ways in.
    var inWords: String {
        switch self {
        case .available: "ready"
        case .missing: "not there"
        case .lockedOut(let duration): duration.map { "locked for \($0.inWords) at most" } ?? "locked"
        case .unusable(let reason): reason
        }
    }
}
