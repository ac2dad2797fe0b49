internal import CSodium

/// Notices damage, nothing more: whoever can write the data can also write the checksum.
public enum Checksum {
    /// BLAKE2b-256 over the fields, each behind its length, so that no two lists of fields give the same bytes.
    public static func of(_ fields: [[UInt8]]) -> [UInt8] {
        var message: [UInt8] = []
        for field in fields {
            withUnsafeBytes(of: UInt64(field.count).bigEndian) { message.append(contentsOf: $0) }
            message.append(contentsOf: field)
        }
        var digest = [UInt8](repeating: 0, count: 32)
        // Fails only for sizes outside 16...64, which 32 is not.
        _ = crypto_generichash(&digest, digest.count, message, UInt64(message.count), nil, 0)
        return digest
    }
}
