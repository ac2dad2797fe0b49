internal import KeyServiceClient
package import VaultCrypto
public import VaultStorage

/// The way to open an account: ``password(_:)-(SharedSecret)``, ``pin(_:)-(SharedSecret)``,
/// ``recoveryCode(_:)-(SharedSecret)``, ``hardware(_:_:)`` or ``offline(_:)-(SharedSecret)``. Each has its own kind of
/// keyslot and its own key at the key service, so locking one does not lock the others.
///
/// Opening an account throws ``VaultError`` with one of these codes:
/// - `wrongSecret`: ask for the secret again.
/// - `keyLocked`, `keyMissing`, `deviceRevoked`: use another way in, or register again.
/// - `keyServiceUnavailable`: try again later.
/// - `notEnrolled`: the account does not have this way in. Use another one.
/// - `hardwareMissing`, `hardwareReplaced`: plug in the enrolled hardware.
/// - `hardwareLocked`, `hardwareFailed`: use another way in.
/// - `lastGuess`: answers were lost, and one more lost answer locks the key. Try again in another network, or ask the
///   person and use ``spendingLastGuess``.
/// - `cancelled`: the person cancelled. Ask again, or stop.
/// - `tooManyAttempts`, without the network: wait for ``VaultError/retryAfter``.
/// - `offlineTooLong`: log in with the network.
/// - `forbiddenByPolicy`: use a way in that the policy allows.
public struct UnlockMethod: Sendable {
    /// The kind of the keyslots that this method opens.
    public let kind: Keyslot.Kind
    let opener: any KeyslotOpener
    /// Whether the last guess is spent, too.
    private(set) var spendsLastGuess = false

    init(_ kind: Keyslot.Kind, _ opener: any KeyslotOpener) {
        self.kind = kind
        self.opener = opener
    }

    /// The same way, which also spends the last guess at the key service after answers were lost. If the answer to it is
    /// lost, too, the key is locked: ask the person first.
    public var spendingLastGuess: UnlockMethod {
        var method = self
        method.spendsLastGuess = true
        return method
    }

    /// The typed secret that the key service checks; nil for hardware, and without the network.
    package var typedSecret: SharedSecret? { opener.typedSecret }

    /// Returns the method for a typed secret that the key service checks; nil for another kind.
    package static func typed(_ kind: Keyslot.Kind, _ secret: SharedSecret) -> UnlockMethod? {
        kind.isTyped ? UnlockMethod(kind, TypedOpener(secret: secret)) : nil
    }
}

/// Opens keyslots with a typed secret, with hardware, or without the key service.
protocol KeyslotOpener: Sendable {
    /// The typed secret that the key service checks.
    var typedSecret: SharedSecret? { get }

    /// Chooses one of several keyslots of one kind.
    ///
    /// - Returns: nil if there is none.
    func choose(from slots: [Keyslot]) async -> Keyslot?

    /// Opens a keyslot.
    ///
    /// - Parameter spendsLastGuess: whether the last guess is spent, too, with protocol version 2.
    func open(
        _ slot: Keyslot, of account: Account, in accounts: Accounts, spendsLastGuess: Bool
    ) async throws -> OpenedKeyslot
}

extension KeyslotOpener {
    var typedSecret: SharedSecret? { nil }

    func choose(from slots: [Keyslot]) async -> Keyslot? { slots.first }
}

/// Opens a keyslot with a typed secret.
struct TypedOpener: KeyslotOpener {
    let secret: SharedSecret

    var typedSecret: SharedSecret? { secret }

    func open(
        _ slot: Keyslot, of account: Account, in accounts: Accounts, spendsLastGuess: Bool
    ) async throws -> OpenedKeyslot {
        guard slot.keyServiceProtocol == 1 else {
            let stretched = try await slot.obliviousInput(
                slot.kind.traits.prepared(secret.bytes), of: account, floor: SecretKeyslot.leastCost,
                cost: accounts.argon2)
            return try await accounts.openOblivious(
                slot, of: account, stretched: stretched, spendsLastGuess: spendsLastGuess)
        }
        return try await SecretKeyslot.open(
            slot, of: account, secret: secret.bytes, keyService: accounts.keyService(account.keyServiceURL),
            cost: accounts.argon2)
    }
}
