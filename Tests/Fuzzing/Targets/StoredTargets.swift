@testable import VaultBiometric
@testable import VaultCrypto
@testable import VaultFIDO2
@testable import VaultPKCS11
@testable import VaultStorage
@testable import VaultTPM2
@testable import VaultUnlock

extension FuzzTarget {
    static func recoveryCode(_ bytes: [UInt8]) {
        guard let typed = try? SecretBytes(copying: bytes) else { return }
        _ = try? RecoveryCode.canonical(typed).count
    }

    /// A public key of minisign, and a signature's file.
    static func minisign(_ bytes: [UInt8]) {
        let key = MinisignKey(String(decoding: bytes, as: UTF8.self))
        // A text that was read is the one form of the key.
        if let key { precondition(Array(key.text.utf8) == bytes && key.fingerprint.utf8.count == 24) }
        guard let signature = MinisignSignature(bytes),
            let other = MinisignKey("RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3")
        else { return }
        _ = signature.isValid(of: Array("test".utf8), by: other)
    }

    static func sealedEnvelope(_ bytes: [UInt8]) {
        guard let key = try? SecretBytes(copying: [UInt8](repeating: 7, count: 32)) else { return }
        let context = SealingContext(purpose: "p", issuer: "i", subject: "s", id: "n")
        _ = try? SealedEnvelope.open(bytes, key: key, context: context).count
        let id = AccountID(issuer: "i", subject: "s")
        for stored in [bytes, [0x43, 0x56, 3] + bytes] {
            if let head = StreamHead(stored) { _ = try? head.key(under: key, "n", id).count }
        }
        guard let stream = try? StreamOpener(head: Array(bytes.prefix(27)), key: key, context: context) else { return }
        _ = try? stream.open(Array(bytes.dropFirst(27)))
    }

    /// The beginning of a backup, the content of its stream, and the description of an account in it.
    static func backup(_ bytes: [UInt8]) {
        _ = try? BackupHeader.read(Array(bytes.prefix(BackupHeader.size)))
        _ = try? BackupAccount(json: bytes)
        for size in [7, bytes.count + 1] {
            var parser = BackupParser()
            var rest = bytes[...]
            while !rest.isEmpty {
                parser.append(Array(rest.prefix(size)))
                rest = rest.dropFirst(size)
                do {
                    while let record = try parser.next() {
                        if case .account(let json) = record { _ = try BackupAccount(json: json) }
                    }
                } catch { break }
            }
            _ = parser.isComplete
        }
    }

    /// The bytes as they are, and the bytes with the endings that the checks expect.
    static func storedForms(_ bytes: [UInt8]) {
        _ = try? VaultBiometric.DesktopForm(bytes)
        _ = try? VaultBiometric.DesktopForm(completed(bytes, "CVDESKTOP"))
        #if TPM2
            _ = try? VaultTPM2.SealedForm(bytes)
            _ = try? VaultTPM2.SealedForm(completed(bytes, "CVTPM2"))
        #endif
        #if FIDO2
            _ = try? VaultFIDO2.StoredForm(bytes)
            _ = try? VaultFIDO2.StoredForm(completed(bytes, "CVFIDO2"))
        #endif
        #if PKCS11
            _ = try? VaultPKCS11.SealedForm(bytes)
            _ = try? VaultPKCS11.SealedForm(completed(bytes, "CVPK11"))
        #endif
    }

    private static func completed(_ bytes: [UInt8], _ word: String) -> [UInt8] {
        var writer = StoredBytesWriter(start: Array(word.utf8) + [1])
        writer.append(bytes)
        return writer.finished()
    }

    static func pkcs11URI(_ bytes: [UInt8]) {
        #if PKCS11
            guard let uri = try? TokenURI(String(decoding: bytes, as: UTF8.self)) else { return }
            _ = (uri.text, uri.modulePath, uri.moduleName, uri.keyID, uri.keyLabel)
        #endif
    }
}
