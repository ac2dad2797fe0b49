internal import CSodium

/// HKDF-SHA512 (RFC 5869) over secrets in guarded memory.
///
/// It runs over libsodium's HMAC, whose state lies in guarded memory here. A hash of other libraries may leave its last
/// block of input, which is a whole PIN or key, in memory that is freed without being wiped.
public enum KeyDerivation {
    /// Derives bytes from one secret.
    ///
    /// - Parameters:
    ///   - secret: the key material.
    ///   - salt: RFC 5869's salt; may be empty.
    ///   - info: a versioned purpose label. It keeps two uses of one key apart.
    ///   - count: the size of the result in bytes, at most 16,320.
    /// - Throws: ``VaultCryptoError`` with code `invalidInput` for another size, or `outOfMemory`.
    public static func hkdf(
        _ secret: borrowing SecretBytes, salt: [UInt8] = [], info: String, count: Int = 32
    ) throws -> SecretBytes {
        try hkdf(secret, salt: salt, info: Array(info.utf8), count: count)
    }

    /// Derives with any bytes as info.
    public static func hkdf(
        _ secret: borrowing SecretBytes, salt: [UInt8] = [], info: [UInt8], count: Int = 32
    ) throws -> SecretBytes {
        guard (1...255 * HMACSHA512.size).contains(count) else {
            throw VaultCryptoError(.invalidInput, "HKDF-SHA512 can derive only 1 to 16,320 bytes.")
        }
        let extracted = try salt.withUnsafeBytes { salt in
            let mac = try HMACSHA512(key: salt)
            secret.withUnsafeBytes { mac.update($0) }
            return try SecretBox(mac.finish())
        }.take()
        return try SecretBytes(count: count) { target in
            var previous = try SecretBytes(count: 0) { _ in }
            for start in stride(from: 0, to: count, by: HMACSHA512.size) {
                let mac = try extracted.withUnsafeBytes { try HMACSHA512(key: $0) }
                previous.withUnsafeBytes { mac.update($0) }
                info.withUnsafeBytes { mac.update($0) }
                withUnsafeBytes(of: UInt8(start / HMACSHA512.size + 1)) { mac.update($0) }
                previous = try mac.finish()
                previous.withUnsafeBytes { block in
                    UnsafeMutableRawBufferPointer(rebasing: target[start...])
                        .copyMemory(from: UnsafeRawBufferPointer(rebasing: block.prefix(count - start)))
                }
            }
        }
    }

    /// Derives from two secrets in a row, so both are needed.
    public static func hkdf(
        _ first: borrowing SecretBytes, _ second: borrowing SecretBytes, salt: [UInt8] = [], info: String,
        count: Int = 32
    ) throws -> SecretBytes {
        let joined = try SecretBytes(count: first.count + second.count) { target in
            first.withUnsafeBytes { target.copyMemory(from: $0) }
            second.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: target[first.count...]).copyMemory(from: $0)
            }
        }
        return try hkdf(joined, salt: salt, info: info, count: count)
    }
}

/// HMAC-SHA512 (RFC 2104) with its state in guarded memory. One value computes one code.
final class HMACSHA512 {
    static let size = Int(crypto_auth_hmacsha512_BYTES)
    private let memory: UnsafeMutableRawPointer
    private static var stateSize: Int { MemoryLayout<crypto_auth_hmacsha512_state>.size }

    private var state: UnsafeMutablePointer<crypto_auth_hmacsha512_state> {
        memory.assumingMemoryBound(to: crypto_auth_hmacsha512_state.self)
    }

    /// - Throws: ``VaultCryptoError`` with code `outOfMemory`.
    init(key: UnsafeRawBufferPointer) throws {
        guard let memory = GuardedMemory.allocate(Self.stateSize) else { throw VaultCryptoError(.outOfMemory) }
        self.memory = memory
        _ = crypto_auth_hmacsha512_init(state, key.bytes, key.count)
    }

    deinit { GuardedMemory.free(memory, Self.stateSize) }

    func update(_ bytes: UnsafeRawBufferPointer) {
        _ = crypto_auth_hmacsha512_update(state, bytes.bytes, UInt64(bytes.count))
    }

    func finish() throws -> SecretBytes {
        try SecretBytes(count: Self.size) { _ = crypto_auth_hmacsha512_final(state, $0.bytes) }
    }
}
