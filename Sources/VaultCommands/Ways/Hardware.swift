internal import CredentialVault

/// A kind of hardware that this program can use.
struct HardwareKind: Sendable {
    /// Which piece of it, and what for.
    struct Request: Sendable {
        /// How it is reached; nil for the usual way.
        var address: String?
        /// Whether a token that has no key to use may be given one.
        var mayMakeKey = false
        /// How long it may take for what needs no person; nil for what such hardware may need.
        var limit: Duration?
    }

    /// Nil in a build without it.
    var provider: (@Sendable (Request) -> any BiometricProvider)?
    /// Keeps its libraries from writing to standard error. To be called before there is a second thread.
    var silence: @Sendable () -> Void = {}

    static let notInThisBuild = HardwareKind()
}

/// The hardware that this build can use, at the addresses that are given or, by the settings, usual.
///
/// An address may name a library, which then runs in this process. So it never comes out of the store of accounts, which
/// somebody else may have written: a keyslot says which token it needs, and not how that is reached.
struct Hardware {
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
        _ kind: Keyslot.Kind, at address: String? = nil, mayMakeKey: Bool = false, within limit: Duration? = nil
    ) throws -> any BiometricProvider {
        guard let provider = Way.of(kind)?.hardware?.provider else {
            throw VaultError(
                .configurationInvalid,
                "This vault was built without \(kind.rawValue). Build it with: swift build --traits \(kind.rawValue.uppercased())"
            )
        }
        return provider(.init(address: address ?? usual[kind.rawValue], mayMakeKey: mayMakeKey, limit: limit))
    }

    /// Keeps libraries from writing to standard error. To be called before there is a second thread.
    static func silenceLibraries() {
        for way in Way.all { way.hardware?.silence() }
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
        guard let provider = try? provider(slot.kind, within: limit) else {
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
