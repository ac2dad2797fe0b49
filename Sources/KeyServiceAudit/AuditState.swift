internal import Crypto
internal import Foundation
internal import KeyServiceCore
internal import VaultCrypto

/// The state of an audit log: the key of its next line, and the newest lines.
struct AuditState: ~Copyable {
    /// The identity of the log file with the newest lines.
    struct File: Hashable {
        var device: UInt64
        var inode: UInt64
    }

    /// The id of the log. It never changes.
    var id: [UInt8]
    /// The number of writes of the state.
    var generation: UInt64
    /// The sequence number of the next line.
    var next: UInt64
    /// The MAC of the newest line.
    var lastMAC: [UInt8]
    /// The key of the next line.
    var key: AuditKey
    /// The log file, and its size before the newest lines.
    var file: File
    var offset: UInt64
    /// The newest lines. After a crash they may be missing in the log file.
    var pending: [UInt8]
    /// Whether the newest lines are durable in the log file.
    var isSettled: Bool

    /// The size of the log file after the newest lines.
    var end: UInt64 { offset + UInt64(pending.count) }
}

/// The file of an ``AuditState``. It has two places, and each write goes to the older one. So a crash in the middle of
/// a write leaves the state before it. The places are overwritten, and the file is never replaced: a replaced file
/// would leave old keys in free blocks of the disk. Its size never changes, so a full disk does not matter.
struct AuditStateFile: ~Copyable {
    /// The most bytes of the newest lines.
    static let maxPending = placeSize - headerSize
    private static let placeSize = 64 * 1024
    private static let magic = Array("CVAUDIT1".utf8)
    // A place: magic 8, generation 8, next 8, offset 8, device 8, inode 8, number of newest bytes 8, MAC 32, key 32,
    // id 16, SHA-256 of all this and the newest lines 32, "settled" 1, unused 7, the newest lines.
    private static let macStart = 56
    private static let keyStart = 88
    private static let idStart = 120
    private static let sumStart = 136
    private static let settledStart = 168
    private static let headerSize = 176

    private let path: String
    private let file: PrivateFile.Descriptor

    /// Opens the state of an existing log.
    init(path: String) throws {
        self.path = path
        try PrivateFile.requirePrivate(path: path, kind: S_IFREG, forbidden: 0o077, ifMissing: .makeAuditLog)
        let number = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        guard number >= 0 else {
            throw KeyServiceServerError(.configurationInvalid, "\(path) cannot be opened (error \(errno)).")
        }
        file = PrivateFile.Descriptor(number: number)
    }

    private init(_ file: consuming PrivateFile.Descriptor, path: String) {
        self.path = path
        self.file = file
    }

    /// Makes the file of a new log.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if the file exists.
    static func create(path: String, _ state: borrowing AuditState) throws {
        let new = AuditStateFile(try PrivateFile.create(path: path), path: path)
        let places = [UInt8](repeating: 0, count: 2 * placeSize)
        guard pwrite(new.file.number, places, places.count, 0) == places.count else {
            throw KeyServiceServerError(.configurationInvalid, "\(path) cannot be written (error \(errno)).")
        }
        try new.write(state)
        guard PrivateFile.syncFolder(of: path) else {
            throw KeyServiceServerError(.configurationInvalid, "\(path) cannot be written (error \(errno)).")
        }
    }

    /// Reads the newest state.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `storeUnusable` if both places are damaged.
    func read() throws -> AuditState {
        guard let first = try read(place: 0) else {
            guard let second = try read(place: 1) else {
                throw KeyServiceServerError(
                    .storeUnusable,
                    "\(path) is damaged. Move this file and the log away, then make a new log.",
                    remedy: .replaceAuditLog)
            }
            return second
        }
        guard let second = try read(place: 1), second.generation > first.generation else { return first }
        return second
    }

    /// Returns nil if the place has no state, or a damaged one.
    private func read(place: off_t) throws -> AuditState? {
        let start = place * off_t(Self.placeSize)
        var count = 0
        let header = try SecretBytes(count: Self.headerSize) { buffer in
            count = pread(file.number, buffer.baseAddress, buffer.count, start)
        }
        guard count == Self.headerSize else { return nil }
        let fields = header.withUnsafeBytes { bytes in
            bytes.starts(with: Self.magic)
                ? (1...6).map { bytes.loadUnaligned(fromByteOffset: 8 * $0, as: UInt64.self) } : []
        }
        guard fields.count == 6, fields[5] <= Self.maxPending else { return nil }
        var pending = [UInt8](repeating: 0, count: Int(fields[5]))
        guard pread(file.number, &pending, pending.count, start + off_t(Self.headerSize)) == pending.count else {
            return nil
        }
        let (sum, lastMAC, id, isSettled) = header.withUnsafeBytes { bytes in
            (
                Array(bytes[Self.sumStart..<Self.settledStart]), Array(bytes[Self.macStart..<Self.keyStart]),
                Array(bytes[Self.idStart..<Self.sumStart]), bytes[Self.settledStart] == 1
            )
        }
        guard Self.sum(header, pending) == sum else { return nil }
        let key = try header.withUnsafeBytes {
            try SecretBox(SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0[Self.keyStart..<Self.idStart])))
        }.take()
        return AuditState(
            id: id, generation: fields[0], next: fields[1], lastMAC: lastMAC, key: try AuditKey(key),
            file: .init(device: fields[3], inode: fields[4]), offset: fields[2], pending: pending,
            isSettled: isSettled)
    }

    /// Makes a state durable, and then wipes the one before it.
    ///
    /// The wiped bytes reach the disk with the next write, or when the system writes them by itself. As soon as
    /// this returns, the older key is not needed any more, and other programs cannot read it from the file.
    func write(_ state: borrowing AuditState) throws {
        let header = try SecretBytes(count: Self.headerSize) { buffer in
            buffer.copyBytes(from: Self.magic)
            let fields = [
                state.generation, state.next, state.offset, state.file.device, state.file.inode,
                UInt64(state.pending.count),
            ]
            for (index, field) in fields.enumerated() {
                buffer.storeBytes(of: field, toByteOffset: 8 * (index + 1), as: UInt64.self)
            }
            UnsafeMutableRawBufferPointer(rebasing: buffer[Self.macStart...]).copyBytes(from: state.lastMAC)
            state.key.bytes.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: buffer[Self.keyStart...]).copyMemory(from: $0)
            }
            UnsafeMutableRawBufferPointer(rebasing: buffer[Self.idStart...]).copyBytes(from: state.id)
            buffer[Self.settledStart] = state.isSettled ? 1 : 0
        }
        let sum = Self.sum(header, state.pending)
        let start = Self.start(of: state)
        // The newest lines come first and the header last. A crash in between leaves a place that is not valid.
        let isWritten =
            pwrite(file.number, state.pending, state.pending.count, start + off_t(Self.headerSize))
            == state.pending.count
            && header.withUnsafeBytes { pwrite(file.number, $0.baseAddress, $0.count, start) } == Self.headerSize
            && pwrite(file.number, sum, sum.count, start + off_t(Self.sumStart)) == sum.count
            && fdatasync(file.number) == 0
        guard isWritten else {
            throw KeyServiceServerError(.storeUnusable, "\(path) cannot be written (error \(errno)).")
        }
        FaultPoint.auditStateWritten.strike()
        let nothing = [UInt8](repeating: 0, count: Self.headerSize)
        let other = off_t(Self.placeSize) - start
        guard pwrite(file.number, nothing, nothing.count, other) == nothing.count else {
            throw KeyServiceServerError(.storeUnusable, "\(path) cannot be written (error \(errno)).")
        }
    }

    /// Notes that the newest lines are durable in the log file. A power failure may lose this note. Then the next
    /// batch compares the newest lines with the log file.
    func markSettled(_ state: borrowing AuditState) {
        var yes: UInt8 = 1
        pwrite(file.number, &yes, 1, Self.start(of: state) + off_t(Self.settledStart))
    }

    private static func start(of state: borrowing AuditState) -> off_t {
        state.generation % 2 == 0 ? 0 : off_t(placeSize)
    }

    private static func sum(_ header: borrowing SecretBytes, _ pending: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        header.withUnsafeBytes { hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: $0[..<sumStart])) }
        hash.update(data: pending)
        return Array(hash.finalize())
    }
}
