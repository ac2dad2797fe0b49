internal import CSodium

/// A checksum against damage, not against attackers: they can also write the checksum.
public enum Checksum {
    /// Returns BLAKE2b-256 over the fields. Each stands behind its length, so no two lists give the same bytes.
    public static func of(_ fields: [[UInt8]]) -> [UInt8] {
        var message: [UInt8] = []
        for field in fields {
            withUnsafeBytes(of: UInt64(field.count).bigEndian) { message.append(contentsOf: $0) }
            message.append(contentsOf: field)
        }
        var digest = [UInt8](repeating: 0, count: 32)
        // The call fails only for sizes outside 16...64, and 32 is inside.
        _ = crypto_generichash(&digest, digest.count, message, UInt64(message.count), nil, 0)
        return digest
    }
}
