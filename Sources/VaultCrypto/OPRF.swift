internal import CSodium

// The only cryptography of our own: expand_message_xmd (RFC 9380 section 5.3.1), hash to ristretto255 (RFC 9497 section
// 4.1), blind and finalize (RFC 9497 section 3.3.1). The arithmetic and SHA-512 are libsodium's. The values of both
// RFCs are in the tests, and a fuzzer calls this file.

/// A pseudorandom function that two parties compute together: RFC 9497, mode 0 (OPRF), ristretto255-SHA512.
///
/// The client has the input, and the service has the key. The service sees only a blinded element, which says nothing
/// about the input. The client learns one value of the function, and nothing about the key.
public enum OPRF {
    /// A client's input under a random blind. It is used for one guess.
    public struct Blinding: ~Copyable, Sendable {
        let scalar: SecretBytes
        /// The blinded input, for the service.
        public let element: RistrettoElement
    }

    /// The size of the result in bytes.
    public static let outputSize = Int(crypto_hash_sha512_BYTES)
    private static let scalarSize = Int(crypto_core_ristretto255_SCALARBYTES)
    private static let context = Array("OPRFV1-\u{0}-ristretto255-SHA512".utf8)

    /// Blinds an input with a new random scalar.
    ///
    /// - Parameter input: at most 65,535 bytes.
    /// - Throws: ``VaultCryptoError`` with code `invalidInput` or `outOfMemory`.
    public static func blind(_ input: borrowing SecretBytes) throws -> Blinding {
        let scalar = try SecretBytes(count: scalarSize) { crypto_core_ristretto255_scalar_random($0.bytes) }
        return try blind(input, with: scalar)
    }

    /// Blinds with a given scalar, as the published values do.
    static func blind(_ input: borrowing SecretBytes, with scalar: consuming SecretBytes) throws -> Blinding {
        let element = try multiplied(hashToGroup(input), by: scalar)
        return try Blinding(scalar: scalar, element: element.withUnsafeBytes { try RistrettoElement(Array($0)) })
    }

    /// Computes the result from the service's answer.
    ///
    /// - Parameters:
    ///   - input: the same input.
    ///   - blinding: the blinding that was sent.
    ///   - evaluated: the service's answer.
    /// - Returns: 64 bytes.
    /// - Throws: ``VaultCryptoError`` with code `invalidInput` if the answer is the element that was sent. Such an
    ///   answer would come from a key that everybody knows.
    public static func finalize(
        _ input: borrowing SecretBytes, _ blinding: borrowing Blinding, evaluated: RistrettoElement
    ) throws -> SecretBytes {
        guard evaluated != blinding.element else {
            throw VaultCryptoError(.invalidInput, "the evaluated element is the blinded element")
        }
        let inverse = try blinding.scalar.withUnsafeBytes { scalar in
            try SecretBox(
                SecretBytes(count: scalarSize) { output in
                    guard crypto_core_ristretto255_scalar_invert(output.bytes, scalar.bytes) == 0 else {
                        throw VaultCryptoError(.invalidInput, "the blind is zero")
                    }
                })
        }.take()
        let element = try multiplied(SecretBytes(copying: evaluated.bytes), by: inverse)
        return try hash { sha in
            sha.update(number: input.count)
            sha.update(input)
            sha.update(number: element.count)
            sha.update(element)
            sha.update(Array("Finalize".utf8))
        }
    }

    /// Makes a key for ``evaluate(_:key:)``: a random scalar, 32 bytes.
    public static func randomKey() throws -> SecretBytes {
        try SecretBytes(count: scalarSize) { crypto_core_ristretto255_scalar_random($0.bytes) }
    }

    /// Evaluates a blinded element, as the service does (RFC 9497 section 3.3.1, BlindEvaluate).
    ///
    /// - Parameters:
    ///   - blinded: the element from the client.
    ///   - key: the result of ``randomKey()``.
    /// - Throws: ``VaultCryptoError`` with code `invalidInput` if the key is not a scalar.
    public static func evaluate(_ blinded: RistrettoElement, key: borrowing SecretBytes) throws -> RistrettoElement {
        guard key.count == scalarSize else { throw VaultCryptoError(.invalidInput, "the key is not a scalar") }
        var output = [UInt8](repeating: 0, count: RistrettoElement.size)
        // It fails only if the result is the identity: the key is zero.
        let status = key.withUnsafeBytes { crypto_scalarmult_ristretto255(&output, $0.bytes, blinded.bytes) }
        guard status == 0 else { throw VaultCryptoError(.invalidInput, "the key is zero") }
        return RistrettoElement(known: output)
    }

    // MARK: - Hashing

    private static func hashToGroup(_ input: borrowing SecretBytes) throws -> SecretBytes {
        guard input.count <= Int(UInt16.max) else { throw VaultCryptoError(.invalidInput, "the input is too long") }
        let uniform = try expand(
            input, tag: Array("HashToGroup-".utf8) + context, count: Int(crypto_core_ristretto255_HASHBYTES))
        return try uniform.withUnsafeBytes { hash in
            try SecretBox(
                SecretBytes(count: RistrettoElement.size) { output in
                    _ = crypto_core_ristretto255_from_hash(output.bytes, hash.bytes)
                })
        }.take()
    }

    /// Expands a message to uniform bytes: `expand_message_xmd` with SHA-512 (RFC 9380 section 5.3.1).
    ///
    /// - Parameters:
    ///   - tag: the domain separation tag, at most 255 bytes.
    ///   - count: the size of the result, at most 16,320 bytes.
    static func expand(_ message: borrowing SecretBytes, tag: [UInt8], count: Int) throws -> SecretBytes {
        let blocks = (count + outputSize - 1) / outputSize
        guard (1...255).contains(blocks), tag.count <= 255 else {
            throw VaultCryptoError(.invalidInput, "the size is too large")
        }
        let suffix = tag + [UInt8(tag.count)]
        let first = try hash { sha in
            sha.update([UInt8](repeating: 0, count: 128))
            sha.update(message)
            sha.update(number: count)
            sha.update([0] + suffix)
        }
        return try SecretBytes(count: count) { output in
            var previous = try SecretBytes(count: outputSize) { _ in }
            for number in 1...blocks {
                let mixed = try SecretBytes(count: outputSize) { target in
                    first.withUnsafeBytes { first in
                        previous.withUnsafeBytes { previous in
                            for index in 0..<outputSize { target[index] = first[index] ^ previous[index] }
                        }
                    }
                }
                previous = try hash { sha in
                    sha.update(mixed)
                    sha.update([UInt8(number)] + suffix)
                }
                let start = (number - 1) * outputSize
                previous.withUnsafeBytes { block in
                    UnsafeMutableRawBufferPointer(rebasing: output[start...])
                        .copyMemory(from: UnsafeRawBufferPointer(rebasing: block.prefix(count - start)))
                }
            }
        }
    }

    private static func multiplied(
        _ element: borrowing SecretBytes, by scalar: borrowing SecretBytes
    ) throws -> SecretBytes {
        try SecretBytes(count: RistrettoElement.size) { output in
            let status = scalar.withUnsafeBytes { scalar in
                element.withUnsafeBytes { crypto_scalarmult_ristretto255(output.bytes, scalar.bytes, $0.bytes) }
            }
            guard status == 0 else { throw VaultCryptoError(.invalidInput, "the product is the identity") }
        }
    }

    /// One SHA-512. Its state is wiped.
    private struct Hash: ~Copyable {
        private var state = crypto_hash_sha512_state()

        init() { crypto_hash_sha512_init(&state) }

        deinit {
            var state = state
            sodium_memzero(&state, MemoryLayout<crypto_hash_sha512_state>.size)
        }

        mutating func update(_ bytes: [UInt8]) {
            crypto_hash_sha512_update(&state, bytes, UInt64(bytes.count))
        }

        mutating func update(_ bytes: borrowing SecretBytes) {
            bytes.withUnsafeBytes { bytes in
                _ = crypto_hash_sha512_update(&state, bytes.bytes, UInt64(bytes.count))
            }
        }

        /// Adds a number below 65,536 as two bytes, the higher one first.
        mutating func update(number: Int) {
            update([UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)])
        }

        mutating func finish(into output: UnsafeMutableRawBufferPointer) {
            crypto_hash_sha512_final(&state, output.bytes)
            sodium_memzero(&state, MemoryLayout<crypto_hash_sha512_state>.size)
        }
    }

    private static func hash(_ body: (inout Hash) -> Void) throws -> SecretBytes {
        var sha = Hash()
        body(&sha)
        return try SecretBytes(count: outputSize) { sha.finish(into: $0) }
    }
}

/// An element of the group ristretto255 (RFC 9496), except the identity.
public struct RistrettoElement: Sendable, Hashable {
    /// The size in bytes.
    public static let size = Int(crypto_core_ristretto255_BYTES)

    /// The encoding, 32 bytes. Each element has only one.
    public let bytes: [UInt8]

    /// Reads an encoding.
    ///
    /// - Throws: ``VaultCryptoError`` with code `invalidInput` if the bytes are no element, not the one encoding of it
    ///   (RFC 9496 section 4.3.1), or the identity.
    public init(_ bytes: [UInt8]) throws {
        // libsodium 1.0.18 accepts the identity, and ignores the highest bit.
        guard bytes.count == Self.size, bytes[Self.size - 1] < 0x80, bytes.contains(where: { $0 != 0 }),
            crypto_core_ristretto255_is_valid_point(bytes) == 1
        else { throw VaultCryptoError(.invalidInput, "the bytes are no element of ristretto255") }
        self.bytes = bytes
    }

    fileprivate init(known bytes: [UInt8]) { self.bytes = bytes }
}
