internal import Foundation
package import VaultCrypto

/// The 32 secret bytes that every record needs to open. They are never in the database.
public final class MasterKey: Sendable {
    /// The size in bytes.
    public static let size = 32

    package let bytes: SecretBytes

    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if there are not 32 bytes.
    package init(_ bytes: consuming SecretBytes) throws {
        guard bytes.count == Self.size else {
            throw KeyServiceServerError(.configurationInvalid, "The master key must have \(Self.size) bytes.")
        }
        self.bytes = bytes
    }

    /// Makes a master key with the system's random generator.
    public static func random() throws -> MasterKey {
        try MasterKey(SecretBytes.random(count: size))
    }

    private static let checkInfo = "credential-vault/key-service/v1/master-key-check"
    private static let checkContext = SealingContext(purpose: checkInfo, issuer: "", subject: "", id: "")

    /// Makes a check value for the database, which only this master key opens.
    func makeCheck() throws -> [UInt8] {
        let key = try KeyDerivation.hkdf(bytes, info: Self.checkInfo)
        return try SealedEnvelope.seal(
            UnsafeRawBufferPointer(start: nil, count: 0), key: key, context: Self.checkContext)
    }

    /// Checks that the store belongs to this master key. With a wrong master key, every right guess would count as
    /// wrong.
    func verify(_ check: [UInt8]) throws {
        do {
            let key = try KeyDerivation.hkdf(bytes, info: Self.checkInfo)
            _ = try SealedEnvelope.open(check, key: key, context: Self.checkContext)
        } catch let error as VaultCryptoError where error.code == .wrongKey {
            throw KeyServiceServerError(
                .configurationInvalid, "The master key belongs to another database.")
        }
    }
}
