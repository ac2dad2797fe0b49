internal import CredentialVault

/// A kind of hardware that this program can use. The keyring of the desktop counts as one.
struct HardwareKind: Sendable {
    /// A request for one piece of hardware.
    struct Request: Sendable {
        /// The address; nil for the usual one.
        var address: String?
        /// Whether to make a key on a token that has no usable key.
        var mayMakeKey = false
        /// The longest time for work that needs no person; nil for the usual limit of such hardware.
        var limit: Duration?
    }

    /// Nil in a build without it.
    var provider: (@Sendable (Request) -> any BiometricProvider)?
    /// Keeps its libraries from writing to standard error. Call this before a second thread exists.
    var silence: @Sendable () -> Void = {}

    static let notInThisBuild = HardwareKind()
}

/// The hardware that this build can use, at a given address or at the address of the settings.
///
/// An address may name a library, which then runs in this process. So an address never comes from the store of
/// accounts, which another person may have written. A keyslot names the token that it needs, and not the address of the
/// token.
struct Hardware {
    private let usual: [String: String]

    init(_ settings: Settings) {
        usual = [Settings.Name.pkcs11, .tpm2].reduce(into: [:]) { $0[$1.rawValue] = settings[$1] }
    }

    /// - Parameters:
    ///   - address: the token's URI, or how to reach the TPM; nil for the usual one.
    ///   - mayMakeKey: whether to make a key on a token that has no usable key.
    ///   - limit: the longest time for work that needs no person; nil for the usual limit of such hardware.
    /// - Throws: `VaultError` with code `configurationInvalid` if this program was built without such hardware.
    func provider(
        _ kind: Keyslot.Kind, at address: String? = nil, mayMakeKey: Bool = false, within limit: Duration? = nil
    ) throws -> any BiometricProvider {
        guard let provider = MethodKind.of(kind)?.hardware?.provider else {
            throw VaultError(
                .configurationInvalid,
                "This vault was built without \(kind.rawValue). Build it with: swift build --traits \(kind.rawValue.uppercased())"
            )
        }
        return provider(.init(address: address ?? usual[kind.rawValue], mayMakeKey: mayMakeKey, limit: limit))
    }

    // MARK: - What is gone

    /// Lets the providers forget the secrets of unlock methods that have ended. Hardware keeps none, but the keyring of
    /// the desktop does.
    ///
    /// - Parameter before: the account before the command ended unlock methods of it.
    func forgetEnded(of before: Account, in vault: Vault) async {
        let kept: [Keyslot]
        do {
            kept = try await vault.storage.account(before.id).keyslots
        } catch let error as VaultError where error.code == .accountNotFound {
            kept = []
        } catch {
            return
        }
        // A keyslot with a new key has another id, and the same secret of the provider.
        let secrets = Set(kept.compactMap { try? $0.protectedSecret() })
        for slot in before.keyslots where slot.kind.asksNothing {
            guard let secret = try? slot.protectedSecret(), !secrets.contains(secret) else { continue }
            await (try? provider(slot.kind, within: Self.glance))?.forget(secret)
        }
    }

    // MARK: - What is there

    /// The longest search for hardware before a person is asked for a PIN. Hardware that hangs must not block the
    /// password.
    static let glance = Duration.seconds(2)

    /// Returns the state of the hardware of these keyslots. Checks all keyslots at once.
    ///
    /// - Returns: the states, by the keyslot's id.
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
        guard let protected = try? slot.protectedSecret() else { return .unusable("damaged") }
        return await provider.availability(of: protected)
    }
}

extension BiometricAvailability {
    /// The state in words, for a list of the unlock methods.
    var inWords: String {
        switch self {
        case .available: "ready"
        case .missing: "not there"
        case .lockedOut(let duration): duration.map { "locked for \($0.inWords) at most" } ?? "locked"
        case .unusable(let reason): reason
        }
    }
}
