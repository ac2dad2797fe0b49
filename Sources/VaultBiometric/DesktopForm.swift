internal import VaultBase
internal import VaultCrypto

/// The bytes of a ``ProtectedSecret``: the id of the key in the keyring, and the secret, sealed under the key.
///
/// ```
/// "CVDESKTOP" ‖ version 1 ‖ id (16 bytes) ‖ sealed secret ‖ checksum (32 bytes)
/// ```
struct DesktopForm: Sendable {
    private let idBytes: [UInt8]
    /// The secret in a `SealedEnvelope`.
    private let sealed: [UInt8]

    private static let start = Array("CVDESKTOP".utf8) + [1]
    private static let idSize = 16

    static let damaged = BiometricError(
        .failed,
        "The stored data for the desktop keyring is damaged, or from a newer version. Use another unlock method, then "
            + "add this one again.")

    /// The id of the key in the keyring, in hexadecimal.
    var id: String { Hexadecimal.text(idBytes) }

    /// Seals a secret under a key that the keyring gets.
    init(sealing secret: borrowing SecretBytes, under key: borrowing SecretBytes) throws {
        idBytes = try SecretBytes.random(count: Self.idSize).withUnsafeBytes { Array($0) }
        sealed = try SealedEnvelope.seal(secret, key: key, context: Self.context(idBytes))
    }

    /// Opens the secret. Returns nil if the key is another one.
    ///
    /// - Throws: ``damaged``.
    func open(under key: borrowing SecretBytes) throws -> SharedSecret? {
        guard key.count == 32 else { return nil }
        do {
            return SharedSecret(try SealedEnvelope.open(sealed, key: key, context: Self.context(idBytes)))
        } catch let error as VaultCryptoError where error.code == .wrongKey {
            return nil
        } catch let error as VaultCryptoError where error.code == .malformedEnvelope {
            throw Self.damaged
        }
    }

    private static func context(_ id: [UInt8]) -> SealingContext {
        SealingContext(
            purpose: "credential-vault/v1/desktop-secret", issuer: "", subject: "", id: Hexadecimal.text(id))
    }

    var bytes: [UInt8] {
        var writer = StoredBytesWriter(start: Self.start)
        writer.append(idBytes + sealed)
        return writer.finished()
    }

    /// - Throws: ``damaged``.
    init(_ bytes: [UInt8]) throws(BiometricError) {
        var reader = try StoredBytesReader(bytes, start: Self.start, damaged: Self.damaged)
        idBytes = try reader.read(Self.idSize)
        sealed = reader.readRest()
    }
}
