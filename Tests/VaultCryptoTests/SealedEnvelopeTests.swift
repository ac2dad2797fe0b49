import Testing

@testable import VaultCrypto

@Suite struct SealedEnvelopeTests {
    static let context = SealingContext(
        purpose: "credential-vault/v1/item", issuer: "https://login.example.com", subject: "alice", id: "note",
        keyID: "key-1")
    /// The algorithms that this processor can seal with.
    static let algorithms: [SealedEnvelope.Algorithm] =
        SealedEnvelope.hasHardwareAES ? [.aes256GCM, .xchacha20Poly1305] : [.xchacha20Poly1305]

    private let key = hex("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")

    private func seal(_ text: [UInt8], _ algorithm: SealedEnvelope.Algorithm) throws -> [UInt8] {
        try text.withUnsafeBytes {
            try SealedEnvelope.seal(
                $0, key: SecretBytes(copying: key), context: Self.context, algorithm: algorithm)
        }
    }

    private func open(
        _ envelope: [UInt8], key: [UInt8]? = nil, context: SealingContext = Self.context
    ) throws -> [UInt8] {
        try SealedEnvelope.open(envelope, key: SecretBytes(copying: key ?? self.key), context: context).reveal()
    }

    @Test(arguments: algorithms, [0, 1, 15, 16, 17, 100_000])
    func `when a text is sealed, then opening returns it`(algorithm: SealedEnvelope.Algorithm, size: Int) throws {
        let text = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
        let envelope = try seal(text, algorithm)
        #expect(envelope.prefix(4) == [0x43, 0x56, 1, algorithm.rawValue])
        #expect(envelope.count == 4 + algorithm.nonceSize + size + 16)
        #expect(try open(envelope) == text)
    }

    @Test func `when no algorithm is given, then the processor decides`() throws {
        let text: [UInt8] = [1, 2, 3]
        let envelope = try text.withUnsafeBytes {
            try SealedEnvelope.seal($0, key: SecretBytes(copying: key), context: Self.context)
        }
        #expect(envelope[3] == (SealedEnvelope.hasHardwareAES ? 1 : 2))
        #expect(try open(envelope) == text)
    }

    @Test(arguments: algorithms)
    func `when a text is sealed twice, then the nonces differ`(algorithm: SealedEnvelope.Algorithm) throws {
        let nonces = try (0..<100).map { _ in Array(try seal([1], algorithm)[4..<4 + algorithm.nonceSize]) }
        #expect(Set(nonces).count == 100)
    }

    @Test(arguments: algorithms)
    func `when an envelope bit flips, then opening fails`(algorithm: SealedEnvelope.Algorithm) async throws {
        let envelope = try seal(hex("00ff10203040"), algorithm)
        for bit in 0..<envelope.count * 8 {
            var changed = envelope
            changed[bit / 8] ^= 1 << (bit % 8)
            // A change of magic, format or algorithm gives the error for a foreign envelope. All other changes give the
            // error for a changed envelope.
            let expected: VaultCryptoError.Code = bit < 32 ? .malformedEnvelope : .wrongKey
            #expect(await code { _ = try open(changed) } == expected, "bit \(bit)")
        }
    }

    @Test(arguments: algorithms)
    func `when an envelope changes its length, then opening fails`(algorithm: SealedEnvelope.Algorithm) async throws {
        let envelope = try seal(hex("00ff10203040"), algorithm)
        for count in 0..<envelope.count {
            let expected: VaultCryptoError.Code =
                count < 4 + algorithm.nonceSize + 16 ? .malformedEnvelope : .wrongKey
            #expect(await code { _ = try open(Array(envelope.prefix(count))) } == expected, "\(count) bytes")
        }
        #expect(await code { _ = try open(envelope + [0]) } == .wrongKey)
    }

    @Test func `when a format is unknown, then the envelope is malformed`() async throws {
        let envelope = try seal([1, 2, 3], .xchacha20Poly1305)
        for value in UInt8.min...UInt8.max {
            var format = envelope
            format[2] = value
            var algorithm = envelope
            algorithm[3] = value
            if value != 1 { #expect(await code { _ = try open(format) } == .malformedEnvelope) }
            if value > 2 || value == 0 { #expect(await code { _ = try open(algorithm) } == .malformedEnvelope) }
        }
        // The algorithm is authenticated too, so no algorithm can replace another.
        var other = envelope
        other[3] = 1
        #expect(throws: VaultCryptoError.self) { try open(other) }
    }

    @Test(arguments: algorithms)
    func `when an envelope's context or key differs, then opening fails`(
        algorithm: SealedEnvelope.Algorithm
    ) async throws {
        let envelope = try seal([1, 2, 3], algorithm)
        let fields: [WritableKeyPath<SealingContext, String>] = [\.purpose, \.issuer, \.subject, \.id, \.keyID]
        for field in fields {
            for value in [
                "", "other", Self.context[keyPath: field] + "x", String(Self.context[keyPath: field].dropLast()),
            ] {
                var context = Self.context
                context[keyPath: field] = value
                #expect(await code { _ = try open(envelope, context: context) } == .wrongKey)
            }
        }
        var wrong = key
        wrong[31] ^= 1
        #expect(await code { _ = try open(envelope, key: wrong) } == .wrongKey)
    }

    @Test func `when text moves between context fields, then opening fails`() async throws {
        let text: [UInt8] = [1]
        let contexts = [("a", "bc"), ("ab", "c"), ("abc", ""), ("", "abc")].map {
            SealingContext(purpose: "p", issuer: $0, subject: $1, id: "i")
        }
        for sealing in contexts {
            let envelope = try text.withUnsafeBytes {
                try SealedEnvelope.seal($0, key: SecretBytes(copying: key), context: sealing)
            }
            for opening in contexts {
                let expected: VaultCryptoError.Code? = sealing == opening ? nil : .wrongKey
                #expect(await code { _ = try open(envelope, context: opening) } == expected)
            }
        }
    }

    @Test(arguments: [0, 16, 31, 33, 64])
    func `when a key has another size, then sealing fails`(size: Int) async throws {
        let short = [UInt8](repeating: 1, count: size)
        let envelope = try seal([1], .xchacha20Poly1305)
        #expect(await code { _ = try open(envelope, key: short) } == .invalidInput)
        #expect(
            await code {
                _ = try SealedEnvelope.seal(
                    SecretBytes(copying: [1]), key: SecretBytes(copying: short), context: Self.context)
            } == .invalidInput)
    }
}
