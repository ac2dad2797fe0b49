internal import KeyService
package import VaultCrypto

/// What somebody opens an account with: ``password(_:)-(SharedSecret)``, ``pin(_:)-(SharedSecret)``,
/// ``recoveryCode(_:)-(SharedSecret)``, ``hardware(_:_:)`` or ``offline(_:)-(SharedSecret)``.
///
/// Opening an account with it throws ``VaultError``: `wrongSecret`, `keyLocked`, `keyMissing`, `keyServiceUnavailable`;
/// `notEnrolled` when the account has no such way in; with hardware `hardwareMissing`, `hardwareReplaced`,
/// `hardwareLocked`, `hardwareFailed` and `cancelled`; without the network `tooManyAttempts` and `offlineTooLong`;
/// `forbiddenByPolicy`.
///
/// Each has a keyslot of its own kind, and a key of its own at the key service: locking one leaves the others.
public struct UnlockMethod: Sendable {
    /// The kind of the keyslots that it opens.
    public let kind: Keyslot.Kind
    let opener: any KeyslotOpener

    init(_ kind: Keyslot.Kind, _ opener: any KeyslotOpener) {
        self.kind = kind
        self.opener = opener
    }

    /// What a person typed for the key service to check; nil for hardware and for opening without the network.
    package var typedSecret: SharedSecret? { opener.typedSecret }
}

/// Opens keyslots in one of the ways that there are: with what a person types, with hardware, without the key service.
protocol KeyslotOpener: Sendable {
    /// What a person typed for the key service to check.
    var typedSecret: SharedSecret? { get }

    /// Chooses one of several keyslots of one kind.
    ///
    /// - Returns: nil when there is none.
    func choose(from slots: [Keyslot]) async -> Keyslot?

    /// Opens a keyslot.
    func open(_ slot: Keyslot, of account: Account, in accounts: Accounts) async throws -> OpenedKeyslot
}

extension KeyslotOpener {
    var typedSecret: SharedSecret? { nil }

    func choose(from slots: [Keyslot]) async -> Keyslot? { slots.first }
}

/// Opens a keyslot with what a person typed.
struct TypedOpener: KeyslotOpener {
    let secret: SharedSecret

    var typedSecret: SharedSecret? { secret }

    func open(_ slot: Keyslot, of account: Account, in accounts: Accounts) async throws -> OpenedKeyslot {
        try await SecretKeyslot.open(
            slot, of: account, secret: secret.bytes, keyService: accounts.keyService(account.keyServiceURL),
            cost: accounts.argon2)
    }
}

extension Account {
    /// The ids of the keyslots of some kinds, the damaged ones, too.
    func keyslotIDs(where isMeant: (Keyslot.Kind) -> Bool) -> [String] {
        keyslots.filter { isMeant($0.kind) }.map(\.id) + damagedKeyslots.filter { isMeant($0.kind) }.map(\.id)
    }

    /// Whether there is a way in that needs no key service.
    public var opensOffline: Bool { keyslots.contains { !$0.needsKeyService } }

    /// Whether it was opened without the key service on this machine, and not online since.
    public var wasOpenedOffline: Bool {
        let last = keyslots.filter { !$0.needsKeyService }.compactMap(\.lastUsedAt).max()
        return last.map { $0 > lastOnlineAt ?? createdAt } ?? false
    }
}
