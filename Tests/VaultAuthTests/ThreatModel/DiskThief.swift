import CredentialVault
import Foundation
import KeyServiceClient
import VaultCrypto
import VaultStorage

@testable import KeyServiceCore
@testable import KeyServiceSQLite

/// A thief's own program on a copy of the disk. It follows no rule of `vault`. Each function that takes a guess runs one
/// Argon2id. Only ``isAnswered(_:by:at:)`` asks the key service.
struct DiskThief {
    /// The account as the disk has it, with its keyslots.
    let disk: Account
    /// The kind of the keyslot to guess at.
    var kind = Keyslot.Kind.password

    var slot: Keyslot {
        get throws { try required(disk.keyslot(kind)) }
    }

    /// Sends a guess to the key service.
    ///
    /// - Returns: whether the service evaluated the guess.
    func isAnswered(_ guess: String, by service: RealKeyService, at now: Date) async throws -> Bool {
        do {
            if try slot.keyServiceProtocol == 2 {
                let blinding = try OPRF.blind(await input(guess).bytes)
                _ = try await service.evaluate(slot.keyID, blinding.element, requestKey: requestKey(), at: now)
            } else {
                let secret = try SecretBytes(copying: await fixedSecret(guess))
                _ = try await service.releaseKey(id: slot.keyID, secret: secret, kind: .secret)
            }
            return true
        } catch let error as KeyServiceError where error.code == .wrongSecret {
            return true
        } catch let error as KeyServiceError where error.code == .keyLocked {
            return false
        }
    }

    // MARK: - Version 1

    /// The fixed secret that a guess gives.
    func fixedSecret(_ guess: String) async throws -> [UInt8] {
        try await stretched(guess).authSecret().withUnsafeBytes { Array($0) }
    }

    /// Opens the password's keyslot with a guess and a released key.
    ///
    /// - Returns: nil if the guess is wrong.
    func open(_ guess: String, released: [UInt8]) async throws -> VaultKey? {
        let slot = try slot
        let slotKey = try await stretched(guess).slotKey(
            releasedKey: SecretBytes(copying: released), slotID: slot.id)
        return try vaultKey(under: slotKey, version: 1)
    }

    /// Opens the password's keyslot with a guess, the service's database and its master key.
    func open(_ guess: String, record: KeyRecord, _ masterKeys: MasterKeys) async throws -> VaultKey? {
        let evaluation = GuessEvaluation(
            masterKeys: masterKeys, stretching: StretchingPool(threads: 1, maxRequests: 1))
        let secret = String(decoding: try await fixedSecret(guess), as: UTF8.self)
        guard let pair = try? await evaluation.open(record, with: .secret(secret, renews: false)) else { return nil }
        return try await open(guess, released: Array(required(Data(base64Encoded: pair.keyText()))))
    }

    private func stretched(_ guess: String) async throws -> StretchedPassword {
        let slot = try slot
        return try await StretchedPassword(
            password: SecretBytes(utf8: guess), salt: slot.salt, deviceSecret: SecretBytes(copying: disk.deviceSecret),
            parameters: slot.argon2)
    }

    // MARK: - Version 2

    /// The key that authenticates requests. The disk is enough for it.
    func requestKey() throws -> SecretBytes {
        try OPRFDerivation.requestKey(from: SecretBytes(copying: disk.deviceSecret), id: slot.keyID)
    }

    /// The output of the oblivious function for a guess, with the service's key of the function.
    func output(_ guess: String, function: borrowing SecretBytes) async throws -> SecretBytes {
        let input = try await input(guess)
        let blinding = try OPRF.blind(input.bytes)
        return try OPRF.finalize(
            input.bytes, blinding, evaluated: OPRF.evaluate(blinding.element, key: function))
    }

    /// Opens the password's keyslot with the output of the oblivious function.
    ///
    /// - Returns: nil if the guess was wrong.
    func open(output: borrowing SecretBytes) throws -> VaultKey? {
        let slot = try slot
        let salt = Checksum.of([Array(disk.keyServiceURL.utf8), slot.protection])
        return try vaultKey(under: OPRFDerivation.slotKey(output, slotID: slot.id, salt: salt), version: 2)
    }

    // MARK: - The parts

    private func input(_ guess: String) async throws -> SharedSecret {
        let slot = try slot
        return SharedSecret(
            try await Argon2id.derive(
                password: SecretBytes(utf8: guess), salt: slot.salt, secret: SecretBytes(copying: disk.deviceSecret),
                parameters: slot.argon2, count: 64))
    }

    private func vaultKey(under slotKey: borrowing SecretBytes, version: Int) throws -> VaultKey? {
        let slot = try slot
        let context = SealingContext(
            purpose: "credential-vault/v\(version)/keyslot/password", issuer: disk.id.issuer,
            subject: disk.id.subject, id: slot.id, keyID: slot.keyID)
        do {
            return try VaultKey(SealedEnvelope.open(slot.wrapped, key: slotKey, context: context))
        } catch let error as VaultCryptoError where error.code == .wrongKey {
            return nil
        }
    }

    private func required<T>(_ value: T?) throws -> T {
        guard let value else { throw StoreError(.corrupt, "It is missing.") }
        return value
    }
}

extension RealKeyService {
    /// Returns the record of a key, as a thief of the database and the master key has it.
    func stolen(_ keyID: String) async throws -> (key: StoredKey, masterKeys: MasterKeys) {
        let store = try folder.openStore(toRead: true)
        defer { store.close() }
        let keys = try await store.page(after: nil, count: 100, of: .all).undamagedKeys()
        guard let key = keys.first(where: { $0.record.id == keyID }) else { throw KeyServiceServerError.noSuchKey }
        return (key, try folder.masterKeys())
    }

    /// The key of the oblivious function, from the database and the master key.
    func stolenFunction(_ keyID: String) async throws -> SecretBytes {
        let (key, masterKeys) = try await stolen(keyID)
        guard key.isOPRF else { throw KeyServiceServerError.noSuchKey }
        return try OPRFContent.key(of: key, masterKeys)
    }
}
