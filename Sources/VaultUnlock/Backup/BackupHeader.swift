internal import VaultBase
internal import VaultCrypto
internal import VaultStorage

/// The beginning of a backup, in the clear: `"CVBK" ‖ format ‖ passes ‖ memory in KiB ‖ lanes ‖ salt ‖ head of the
/// stream`. The stream is bound to all of it but the head.
package struct BackupHeader: Sendable {
    package static let size = 60
    private static let magic = Array("CVBK".utf8)
    private static let format: UInt8 = 1
    private static let saltSize = 16

    let cost: Argon2Parameters
    let salt: [UInt8]

    init(cost: Argon2Parameters) throws {
        self.cost = cost
        salt = try SecretBytes.random(count: Self.saltSize).withUnsafeBytes { Array($0) }
    }

    /// The bytes before the head of the stream.
    var bytes: [UInt8] {
        Self.magic + [Self.format] + [cost.passes, cost.memoryKiB, cost.lanes].flatMap(Self.bigEndian) + salt
    }

    /// Reads the beginning of a file.
    ///
    /// - Throws: ``VaultError`` with code `backupInvalid`.
    package static func read(_ bytes: [UInt8]) throws -> (header: BackupHeader, head: [UInt8]) {
        guard bytes.starts(with: magic), bytes.count > magic.count else {
            throw VaultError(.backupInvalid, "The file is not a backup of Credential Vault.")
        }
        guard bytes[magic.count] == format else {
            throw VaultError(
                .backupInvalid, "A newer version of this program made the backup. Update this program, then try again.")
        }
        guard bytes.count == size else { throw VaultError.damagedBackup }
        let numbers = stride(from: magic.count + 1, to: magic.count + 13, by: 4).map { start in
            bytes[start..<start + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        let cost = Argon2Parameters(passes: numbers[0], memoryKiB: numbers[1], lanes: numbers[2])
        let rest = bytes.dropFirst(magic.count + 13)
        return (BackupHeader(cost: cost, salt: Array(rest.prefix(saltSize))), Array(rest.dropFirst(saltSize)))
    }

    private init(cost: Argon2Parameters, salt: [UInt8]) {
        self.cost = cost
        self.salt = salt
    }

    /// The key of the stream.
    func key(under passphrase: borrowing SecretBytes) async throws -> SecretBytes {
        let prepared = try Password.opaqueString(passphrase, name: "passphrase")
        do {
            return try await Argon2id.derive(
                password: prepared, salt: salt, secret: SecretBytes(count: 0) { _ in }, parameters: cost)
        } catch let error as VaultCryptoError where error.code == .invalidInput {
            throw VaultError.damagedBackup
        }
    }

    /// The context that the stream is bound to.
    var context: SealingContext {
        SealingContext(
            purpose: "credential-vault/v1/backup", issuer: "", subject: "",
            id: Hexadecimal.text(bytes))
    }

    static func bigEndian(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}

extension VaultError {
    static var damagedBackup: VaultError {
        VaultError(
            .backupInvalid, "The backup is damaged or incomplete. Nothing was changed. Use another copy of the file.")
    }
}
