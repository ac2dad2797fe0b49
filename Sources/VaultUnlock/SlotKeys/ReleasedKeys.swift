internal import Foundation
package import KeyServiceClient
package import VaultCrypto
package import VaultStorage

/// Keys of protocol version 1: the key service makes a key, and releases it for the right secret.
///
/// Of a typed secret, the service gets one part, and another part never leaves this machine. Hardware has no secret to
/// type: its secret seals the long secret of the key.
package struct ReleasedKeys: UnconfirmedKeys {
    private let service: any KeyService

    package init(service: any KeyService) { self.service = service }

    package var inputSize: Int { 32 }

    package func make(_ draft: KeyslotDraft, for account: Account, vaultKey: VaultKey) async throws -> Keyslot {
        guard let protected = draft.protected else {
            let stretched = StretchedPassword(stretched: try draft.input.bytes.copy())
            let released = try await service.createKey(secret: stretched.authSecret())
            let slotKey = try stretched.slotKey(releasedKey: released.key, slotID: draft.id)
            return try draft.keyslot(
                of: account.id, sealing: vaultKey, under: slotKey, key: (released.id, version: 1))
        }
        // Nobody needs this secret again: the slot uses the long secret that the service makes.
        let released = try await service.createKey(secret: AuthSecret.random())
        let longSecret = try SealedEnvelope.seal(
            released.longSecret, key: Self.longSecretKey(draft.input.bytes),
            context: Self.longSecretContext(account.id, slotID: draft.id, keyID: released.id))
        let protection = try HardwareData(protected, longSecret: longSecret).encoded()
        let slotKey = try Self.slotKey(
            draft.input.bytes, releasedKey: released.key, slotID: draft.id, protection: protection)
        return try draft.keyslot(
            of: account.id, sealing: vaultKey, under: slotKey, key: (released.id, version: 1), protection: protection)
    }

    package func open(
        _ slot: Keyslot, of account: Account, input: SharedSecret, spendsLastGuess: Bool
    ) async throws -> OpenedKeyslot {
        try slot.requireKeyAtService()
        guard slot.kind.hasProvider else {
            let stretched = StretchedPassword(stretched: try input.bytes.copy())
            let released = try await service.releaseKey(
                id: slot.keyID, secret: stretched.authSecret(), kind: .secret)
            let slotKey = try stretched.slotKey(releasedKey: released.key, slotID: slot.id)
            var opened = OpenedKeyslot(vaultKey: try slot.vaultKey(underRight: slotKey, of: account.id))
            opened.wrongGuesses = released.wrongGuesses
            return opened
        }
        let sealed = try HardwareData(of: slot).longSecret ?? Data()
        let longSecret = try slot.openingRight {
            try SealedEnvelope.open(
                Array(sealed), key: Self.longSecretKey(input.bytes),
                context: Self.longSecretContext(account.id, slotID: slot.id, keyID: slot.keyID))
        }
        let released = try await service.releaseKey(id: slot.keyID, secret: longSecret, kind: .longSecret)
        let slotKey = try Self.slotKey(
            input.bytes, releasedKey: released.key, slotID: slot.id, protection: slot.protection)
        return OpenedKeyslot(vaultKey: try slot.vaultKey(underRight: slotKey, of: account.id))
    }

    package func end(_ key: RetiredKey) async throws { try await service.endKey(id: key.id) }

    /// Joins a secret of the hardware's key, which never leaves the machine, with the released key. The salt is the data
    /// beside the wrapped key. So nobody can change that data unnoticed, not even the token's name in the PIN prompt.
    private static func slotKey(
        _ secret: borrowing SecretBytes, releasedKey: borrowing SecretBytes, slotID: String, protection: [UInt8]
    ) throws -> SecretBytes {
        let localShare = try KeyDerivation.hkdf(secret, info: "credential-vault/v1/hardware/local-share")
        return try KeyDerivation.hkdf(
            releasedKey, localShare, salt: Checksum.of([protection]),
            info: "credential-vault/v1/hardware/slot-key" + slotID)
    }

    private static func longSecretKey(_ secret: borrowing SecretBytes) throws -> SecretBytes {
        try KeyDerivation.hkdf(secret, info: "credential-vault/v1/hardware/long-secret")
    }

    private static func longSecretContext(_ id: AccountID, slotID: String, keyID: String) -> SealingContext {
        SealingContext(
            purpose: "credential-vault/v1/hardware/long-secret", issuer: id.issuer, subject: id.subject, id: slotID,
            keyID: keyID)
    }
}
