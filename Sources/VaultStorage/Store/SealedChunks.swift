internal import Foundation
internal import VaultBase
internal import VaultCrypto

/// The sealed chunks of one item, in order, until a store has taken all of them in one transaction.
///
/// They are in a file without a name. So they need no memory, and a killed process leaves no file behind.
public final class SealedChunks: Sendable {
    private static let size = SealedStream.chunkSize + SealedStream.overhead

    private let file: ChunkFile
    /// The offset of the chunks in the file, in bytes.
    private let start: Int
    private let length = Lock(0)

    /// - Throws: ``StoreError`` with code `unreadable`.
    package init(folder: String) throws {
        file = try ChunkFile(folder: folder)
        start = 0
    }

    /// Uses the same file, after other chunks. No chunk is added to the others any more.
    init(after others: SealedChunks) {
        file = others.file
        start = others.start + others.length.withLock { $0 }
    }

    /// How many chunks there are.
    public var count: Int { length.withLock { ($0 + Self.size - 1) / Self.size } }

    /// Adds the next chunk. All but the last one have the same size.
    ///
    /// - Throws: ``StoreError`` with code `unreadable`. Most likely the disk is full.
    package func append(_ chunk: [UInt8]) throws {
        try length.withLock { length in
            try file.write(chunk, at: start + length)
            length += chunk.count
        }
    }

    /// Calls `body` with each chunk and its number, counted from 0. It blocks on the disk.
    ///
    /// - Throws: ``StoreError`` with code `unreadable`, and the errors of `body`.
    public func read(_ body: (_ number: Int, _ bytes: [UInt8]) throws -> Void) throws {
        let length = length.withLock { $0 }
        for number in 0..<count {
            let offset = number * Self.size
            try body(number, file.read(min(Self.size, length - offset), at: start + offset))
        }
    }
}

/// A file that has no name.
private final class ChunkFile: Sendable {
    private let descriptor: CInt

    init(folder: String) throws {
        let path = folder + "/.chunks-\(UUID().uuidString)"
        descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Self.failure(errno) }
        unlink(path)
    }

    deinit { close(descriptor) }

    func write(_ bytes: [UInt8], at offset: Int) throws {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                pwrite(descriptor, $0.baseAddress.map { $0 + written }, $0.count - written, off_t(offset + written))
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw Self.failure(errno) }
            written += count
        }
    }

    func read(_ size: Int, at offset: Int) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: size) { buffer, initialized in
            while initialized < size {
                let count = pread(
                    descriptor, buffer.baseAddress.map { $0 + initialized }, size - initialized,
                    off_t(offset + initialized))
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { throw Self.failure(errno) }
                initialized += count
            }
        }
    }

    private static func failure(_ code: Int32) -> StoreError {
        [ENOSPC, EDQUOT].contains(code)
            ? StoreError(.unreadable, "The disk is full. Nothing was changed.")
            : StoreError(
                .unreadable, "The item cannot be written. Nothing was changed.",
                underlying: POSIXError(.init(rawValue: code) ?? .EIO))
    }
}
