internal import CSodium
internal import VaultBase

/// A public key that checks signed files, in the format of minisign.
package struct MinisignKey: Sendable, Hashable {
    /// The key as minisign prints it: 56 characters of base64.
    package let text: String
    let id: [UInt8]
    let publicKey: [UInt8]

    /// - Returns: nil if the text is no such key.
    package init?(_ text: String) {
        // "Ed", the key's identifier and the key of Ed25519.
        guard let bytes = MinisignFormat.decode(text), bytes.count == 42, bytes.starts(with: Array("Ed".utf8)) else {
            return nil
        }
        self.text = text
        id = Array(bytes[2..<10])
        publicKey = Array(bytes[10...])
        guard Signature.isPublicKey(publicKey) else { return nil }
    }

    /// The short form of the key, for people who compare two keys: the first 10 bytes of SHA-512 over a label and the
    /// key, as five groups of hexadecimal digits. The key's identifier would not do, because anybody can choose it.
    package var fingerprint: String {
        let digits = Hexadecimal.text(
            PublicHash.sha512(Array("credential-vault/minisign/fingerprint".utf8) + publicKey).prefix(10))
        return stride(from: 0, to: 20, by: 4).map { String(digits.dropFirst($0).prefix(4)) }.joined(separator: "-")
    }
}

/// The signature of a file, as `minisign -S` writes it: Ed25519 (RFC 8032) of the file's BLAKE2b-512 (RFC 7693).
package struct MinisignSignature: Sendable {
    /// A text of the signer, which the signature also covers.
    package let trustedComment: String
    private let keyID: [UInt8]
    private let signature: [UInt8]
    private let comment: [UInt8]
    private let commentSignature: [UInt8]

    /// Reads a signature, which is not checked yet.
    ///
    /// - Parameter file: the content of the signature's file.
    /// - Returns: nil if it is not in this format. The older format, which signs the file without a hash, is refused.
    package init?(_ file: [UInt8]) {
        var lines = file.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { line in
            line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        }
        while lines.count > 4, lines.last?.isEmpty == true { lines.removeLast() }
        let prefix = Array("trusted comment: ".utf8)
        guard lines.count == 4, lines[0].starts(with: Array("untrusted comment:".utf8)), lines[2].starts(with: prefix),
            let bytes = MinisignFormat.decode(String(decoding: lines[1], as: UTF8.self)),
            let last = MinisignFormat.decode(String(decoding: lines[3], as: UTF8.self)),
            bytes.count == 10 + Signature.size, bytes.starts(with: Array("ED".utf8)), last.count == Signature.size
        else { return nil }
        keyID = Array(bytes[2..<10])
        signature = Array(bytes[10...])
        comment = Array(lines[2].dropFirst(prefix.count))
        commentSignature = last
        trustedComment = String(decoding: comment, as: UTF8.self)
    }

    /// When the file was signed, by the signer's clock, in seconds since 1970. `minisign -S` writes this time into the
    /// comment. Nil if the signer wrote another comment.
    package var signedAt: Int? {
        let start = "timestamp:"
        guard let field = trustedComment.split(separator: "\t", omittingEmptySubsequences: false).first,
            field.hasPrefix(start)
        else { return nil }
        let digits = field.dropFirst(start.count)
        guard (1...11).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(digits)
    }

    /// Whether the key made this signature, by the identifiers that both name. They prove nothing.
    package func names(_ key: MinisignKey) -> Bool { keyID == key.id }

    /// Whether the owner of the key signed this content and the comment.
    package func isValid(of content: [UInt8], by key: MinisignKey) -> Bool {
        var digest = [UInt8](repeating: 0, count: 64)
        // The call fails only for sizes outside 16...64.
        _ = crypto_generichash(&digest, digest.count, content, UInt64(content.count), nil, 0)
        return names(key) && Signature.isValid(signature, of: digest, by: key.publicKey)
            && Signature.isValid(commentSignature, of: signature + comment, by: key.publicKey)
    }
}

private enum MinisignFormat {
    /// Base64 of public bytes (RFC 4648 section 4), with padding, in its one form.
    static func decode(_ text: String) -> [UInt8]? {
        let isPlain = text.utf8.allSatisfy { $0 < 0x80 && $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") }
        guard isPlain, text.utf8.count.isMultiple(of: 4) else { return nil }
        let padding = text.utf8.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding <= 2 else { return nil }
        let body = text.utf8.dropLast(padding).map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: byte
            }
        }
        return Base64URL.decode(String(decoding: body, as: UTF8.self))
    }
}
