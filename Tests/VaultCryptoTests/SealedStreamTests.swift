import Testing

@testable import VaultCrypto

@Suite struct SealedStreamTests {
    private static let context = SealingContext(
        purpose: "credential-vault/v1/item", issuer: "https://login.example.com", subject: "alice", id: "note")
    private let key = hex("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")

    private struct Stream {
        var head: [UInt8]
        var chunks: [[UInt8]]
    }

    private func seal(_ chunks: [[UInt8]], endsWell: Bool = true) throws -> Stream {
        let sealer = try StreamSealer(key: SecretBytes(copying: key), context: Self.context)
        let sealed = try chunks.indices.map {
            try sealer.seal(chunks[$0], isLast: endsWell && $0 == chunks.count - 1)
        }
        return Stream(head: sealer.head, chunks: sealed)
    }

    /// Nil if the stream is not complete.
    private func open(
        _ stream: Stream, key: [UInt8]? = nil, context: SealingContext = Self.context
    ) throws -> [[UInt8]]? {
        let opener = try StreamOpener(
            head: stream.head, key: SecretBytes(copying: key ?? self.key), context: context)
        let chunks = try stream.chunks.map { try opener.open($0) }
        return opener.isComplete ? chunks : nil
    }

    private func opens(_ stream: Stream) -> Bool { (try? open(stream)) ?? nil != nil }

    @Test(arguments: [[0], [1], [65_536], [65_536, 0], [65_536, 65_536, 3], [5, 0, 7]])
    func `when a stream is sealed, then opening returns its chunks`(sizes: [Int]) throws {
        let chunks = sizes.map { size in (0..<size).map { UInt8(truncatingIfNeeded: $0 + sizes.count) } }
        let stream = try seal(chunks)
        #expect(stream.head.count == 27 && stream.head.prefix(3) == [0x43, 0x56, 2])
        #expect(stream.chunks.map(\.count) == sizes.map { $0 + 17 })
        #expect(try open(stream) == chunks)
    }

    @Test func `when a stream bit flips, then opening fails`() throws {
        let stream = try seal([[1, 2, 3], [4, 5]])
        for bit in 0..<stream.head.count * 8 {
            var changed = stream
            changed.head[bit / 8] ^= 1 << (bit % 8)
            #expect(!opens(changed), "bit \(bit) of the head")
        }
        for number in stream.chunks.indices {
            for bit in 0..<stream.chunks[number].count * 8 {
                var changed = stream
                changed.chunks[number][bit / 8] ^= 1 << (bit % 8)
                #expect(!opens(changed), "bit \(bit) of chunk \(number)")
            }
        }
    }

    @Test func `when chunks are cut, reordered or mixed, then opening fails`() throws {
        let stream = try seal([[1], [2], [3], [4]])
        let other = try seal([[1], [2], [3], [4]])
        #expect(opens(stream) && opens(other) && stream.head != other.head)
        for count in 0..<4 {
            #expect(!opens(Stream(head: stream.head, chunks: Array(stream.chunks.prefix(count)))), "\(count) chunks")
        }
        for first in 0..<4 {
            for second in 0..<4 where first != second {
                var chunks = stream.chunks
                chunks.swapAt(first, second)
                #expect(!opens(Stream(head: stream.head, chunks: chunks)), "\(first) and \(second) swapped")
                chunks = stream.chunks
                chunks[first] = stream.chunks[second]
                #expect(!opens(Stream(head: stream.head, chunks: chunks)), "\(second) in the place of \(first)")
            }
            var chunks = stream.chunks
            chunks[first] = other.chunks[first]
            #expect(!opens(Stream(head: stream.head, chunks: chunks)), "\(first) of another stream")
            chunks = stream.chunks
            chunks.remove(at: first)
            #expect(!opens(Stream(head: stream.head, chunks: chunks)), "without \(first)")
            chunks = stream.chunks
            chunks.insert(stream.chunks[first], at: first)
            #expect(!opens(Stream(head: stream.head, chunks: chunks)), "\(first) twice")
        }
        #expect(!opens(Stream(head: stream.head, chunks: stream.chunks + [stream.chunks[3]])))
        #expect(!opens(Stream(head: other.head, chunks: stream.chunks)))
        #expect(!opens(try seal([[1], [2]], endsWell: false)), "without an end")
    }

    @Test func `when a chunk changes its length, then opening fails`() throws {
        let stream = try seal([[1, 2, 3], [4, 5, 6]])
        for number in 0...1 {
            for count in 0..<stream.chunks[number].count {
                var changed = stream
                changed.chunks[number] = Array(changed.chunks[number].prefix(count))
                #expect(!opens(changed), "\(count) bytes of chunk \(number)")
            }
            var changed = stream
            changed.chunks[number].append(0)
            #expect(!opens(changed))
        }
    }

    @Test func `when a stream's context or key differs, then opening fails`() throws {
        let stream = try seal([[1, 2, 3]])
        let paths: [WritableKeyPath<SealingContext, String>] = [\.purpose, \.issuer, \.subject, \.id, \.keyID]
        for path in paths {
            var other = Self.context
            other[keyPath: path] += "x"
            #expect(throws: VaultCryptoError.self) { try open(stream, context: other) }
        }
        // The bytes that one field loses go to the next field.
        var moved = Self.context
        moved.subject = "alic"
        moved.id = "enote"
        #expect(throws: VaultCryptoError.self) { try open(stream, context: moved) }
        #expect(throws: VaultCryptoError.self) { try open(stream, key: Array(key.reversed())) }
    }

    @Test func `when one chunk fails, then no later chunk opens`() throws {
        let stream = try seal([[1], [2]])
        let opener = try StreamOpener(head: stream.head, key: SecretBytes(copying: key), context: Self.context)
        #expect(throws: VaultCryptoError.self) { try opener.open(stream.chunks[1]) }
        #expect(throws: VaultCryptoError.self) { try opener.open(stream.chunks[0]) }
        #expect(!opener.isComplete)
    }

    @Test func `when a size or end is wrong, then streams throw`() async throws {
        let sealer = try StreamSealer(key: SecretBytes(copying: key), context: Self.context)
        let long = [UInt8](repeating: 0, count: SealedStream.chunkSize + 1)
        #expect(await code { _ = try sealer.seal(long, isLast: false) } == .invalidInput)
        _ = try sealer.seal([1], isLast: true)
        #expect(await code { _ = try sealer.seal([2], isLast: true) } == .invalidInput)
        #expect(
            await code { _ = try StreamSealer(key: SecretBytes(copying: [1]), context: Self.context) } == .invalidInput)
        let head = sealer.head
        for bytes in [[], Array(head.dropLast()), head + [0], [0x43, 0x56, 1] + head.dropFirst(3)] {
            #expect(!SealedStream.isHead(bytes))
            #expect(
                await code {
                    _ = try StreamOpener(head: bytes, key: SecretBytes(copying: key), context: Self.context)
                } == .malformedEnvelope)
        }
    }
}
