internal import CSodium
internal import VaultBase

/// Authenticated encryption of data that is too large for memory: a head, and chunks in order (libsodium's
/// secretstream, XChaCha20-Poly1305).
///
/// The head is `"CV" ‖ format 2 ‖ header (24 bytes)`. Every chunk is bound to the context, the head, its number and the
/// chunks before it. The last chunk is marked, so a cut-off stream is noticed.
public enum SealedStream {
    /// The size of a chunk's content in bytes. The last chunk may be shorter.
    public static let chunkSize = 65_536
    /// The bytes that sealing adds to a chunk.
    public static let overhead = 17

    static let magic: [UInt8] = Array("CV".utf8) + [2]
    static let headerSize = 24

    /// Whether bytes are the head of a stream, not a ``SealedEnvelope``.
    public static func isHead(_ bytes: [UInt8]) -> Bool {
        bytes.count == magic.count + headerSize && bytes.starts(with: magic)
    }

    /// Derives the key for streams of one name (``SealingContext/id``). The key of the envelopes thus serves one cipher
    /// only, and a program can get the key of one item alone.
    ///
    /// - Parameters:
    ///   - key: 32 bytes.
    ///   - context: the names that the stream belongs to. Of them, only ``SealingContext/id`` counts.
    public static func streamKey(_ key: borrowing SecretBytes, context: SealingContext) throws -> SecretBytes {
        guard key.count == 32 else { throw VaultCryptoError(.invalidInput, "the sealing key must have 32 bytes") }
        return try KeyDerivation.hkdf(key, info: "credential-vault/v1/stream " + context.id)
    }
}

/// The sealer of a stream, one chunk at a time.
package final class StreamSealer: Sendable {
    /// The start of the stream, before the chunks. ``StreamOpener`` needs it.
    package let head: [UInt8]
    private let state: Lock<StreamState>

    /// - Parameters:
    ///   - key: 32 bytes.
    ///   - context: the owner and purpose of the stream. Opening needs the same context.
    /// - Throws: ``VaultCryptoError`` with code `invalidInput` if the key is not 32 bytes long, or `outOfMemory`.
    package convenience init(key: borrowing SecretBytes, context: SealingContext) throws {
        try self.init(streamKey: SealedStream.streamKey(key, context: context), context: context)
    }

    /// - Parameters:
    ///   - streamKey: from ``SealedStream/streamKey(_:context:)``.
    ///   - context: the owner and purpose of the stream. Opening needs the same context.
    /// - Throws: ``VaultCryptoError`` with code `invalidInput` if the key is not 32 bytes long, or `outOfMemory`.
    package init(streamKey: borrowing SecretBytes, context: SealingContext) throws {
        guard streamKey.count == 32 else { throw VaultCryptoError(.invalidInput, "the stream key must have 32 bytes") }
        var state = try StreamState()
        var header = [UInt8](repeating: 0, count: SealedStream.headerSize)
        let status = streamKey.withUnsafeBytes {
            crypto_secretstream_xchacha20poly1305_init_push(state.pointer, &header, $0.bytes)
        }
        guard status == 0 else { throw VaultCryptoError(.outOfMemory) }
        head = SealedStream.magic + header
        state.data = context.authenticatedData(header: head)
        self.state = Lock(state)
    }

    /// Seals the next chunk.
    ///
    /// - Parameters:
    ///   - chunk: at most ``SealedStream/chunkSize`` bytes.
    ///   - isLast: whether the stream ends with this chunk.
    /// - Throws: ``VaultCryptoError`` with code `invalidInput` for a longer chunk, or after the last one.
    package func seal(_ chunk: [UInt8], isLast: Bool) throws -> [UInt8] {
        try state.withLock { state in
            guard chunk.count <= SealedStream.chunkSize, !state.isOver else {
                throw VaultCryptoError(.invalidInput, "the chunk is too long, or comes after the last one")
            }
            let data = state.nextData()
            let size = chunk.count + SealedStream.overhead
            state.isOver = isLast
            // The values of TAG_FINAL and TAG_MESSAGE, macros that Swift does not see.
            let tag: UInt8 = isLast ? 3 : 0
            let pointer = state.pointer
            return try [UInt8](unsafeUninitializedCapacity: size) { output, initialized in
                let status = chunk.withUnsafeBytes {
                    crypto_secretstream_xchacha20poly1305_push(
                        pointer, output.baseAddress, nil, $0.bytes, UInt64($0.count), data, UInt64(data.count), tag)
                }
                guard status == 0 else { throw VaultCryptoError(.invalidInput, "the chunk cannot be sealed") }
                initialized = size
            }
        }
    }
}

/// The opener of a stream from ``StreamSealer``, one chunk at a time and in the same order.
///
/// An opened chunk is authentic. The stream is whole only if ``isComplete`` is true at its end.
package final class StreamOpener: Sendable {
    private let state: Lock<StreamState>

    /// - Parameters:
    ///   - head: the sealer's ``StreamSealer/head``.
    ///   - key: the same 32 bytes.
    ///   - context: the same context.
    /// - Throws: ``VaultCryptoError`` with code `malformedEnvelope` if it is not a head, `invalidInput` or
    ///   `outOfMemory`.
    package convenience init(head: [UInt8], key: borrowing SecretBytes, context: SealingContext) throws {
        try self.init(head: head, streamKey: SealedStream.streamKey(key, context: context), context: context)
    }

    /// - Parameters:
    ///   - head: the sealer's ``StreamSealer/head``.
    ///   - streamKey: the same key.
    ///   - context: the same context.
    /// - Throws: ``VaultCryptoError`` with code `malformedEnvelope` if it is not a head, `invalidInput` or
    ///   `outOfMemory`.
    package init(head: [UInt8], streamKey: borrowing SecretBytes, context: SealingContext) throws {
        guard SealedStream.isHead(head) else { throw VaultCryptoError(.malformedEnvelope) }
        guard streamKey.count == 32 else { throw VaultCryptoError(.invalidInput, "the stream key must have 32 bytes") }
        var state = try StreamState()
        let header = Array(head[SealedStream.magic.count...])
        let status = streamKey.withUnsafeBytes {
            crypto_secretstream_xchacha20poly1305_init_pull(state.pointer, header, $0.bytes)
        }
        guard status == 0 else { throw VaultCryptoError(.malformedEnvelope) }
        state.data = context.authenticatedData(header: head)
        self.state = Lock(state)
    }

    /// Opens the next chunk.
    ///
    /// - Throws: ``VaultCryptoError`` with code `wrongKey` for a wrong key, context or order, or changed bytes. All
    ///   later calls throw, too.
    package func open(_ sealed: [UInt8]) throws -> [UInt8] {
        try state.withLock { state in
            let size = sealed.count - SealedStream.overhead
            guard (0...SealedStream.chunkSize).contains(size), !state.isOver, !state.hasFailed else {
                state.hasFailed = true
                throw VaultCryptoError(.wrongKey)
            }
            let data = state.nextData()
            let pointer = state.pointer
            var tag: UInt8 = 0
            var status: Int32 = -1
            let chunk = [UInt8](unsafeUninitializedCapacity: size) { output, initialized in
                let target = UnsafeMutableRawBufferPointer(output).bytes
                status = crypto_secretstream_xchacha20poly1305_pull(
                    pointer, target, nil, &tag, sealed, UInt64(sealed.count), data, UInt64(data.count))
                initialized = status == 0 ? size : 0
            }
            guard status == 0 else {
                state.hasFailed = true
                throw VaultCryptoError(.wrongKey)
            }
            state.isOver = tag == 3
            return chunk
        }
    }

    /// Whether the last chunk was opened. If false at the end, the stream was cut off.
    package var isComplete: Bool { state.withLock { $0.isOver && !$0.hasFailed } }
}

/// The state of a stream. The cipher's state holds the key, so it is in guarded memory.
private struct StreamState: ~Copyable, @unchecked Sendable {
    private static let size = MemoryLayout<crypto_secretstream_xchacha20poly1305_state>.size

    /// The pointer has one owner, as this value cannot be copied.
    let pointer: UnsafeMutablePointer<crypto_secretstream_xchacha20poly1305_state>
    /// The data that every chunk is bound to.
    var data: [UInt8] = []
    var number: UInt64 = 0
    var isOver = false
    var hasFailed = false

    init() throws {
        guard let base = GuardedMemory.allocate(Self.size) else { throw VaultCryptoError(.outOfMemory) }
        pointer = base.bindMemory(to: crypto_secretstream_xchacha20poly1305_state.self, capacity: 1)
    }

    deinit { GuardedMemory.free(UnsafeMutableRawPointer(pointer), Self.size) }

    /// Returns the data that the next chunk is bound to.
    mutating func nextData() -> [UInt8] {
        defer { number += 1 }
        return withUnsafeBytes(of: number.bigEndian) { data + $0 }
    }
}
