package import VaultStorage

/// One record of a backup. The order is: `start`; for each account `account`; for each of its items `item`, its pieces
/// and `endOfItem`; then `end`.
package enum BackupRecord: Sendable, Equatable {
    /// JSON of a ``BackupStart``.
    case start([UInt8])
    /// JSON of a ``BackupAccount``.
    case account([UInt8])
    /// An item's name.
    case item(ItemName)
    /// At most 64 KiB of an item.
    case piece([UInt8])
    case endOfItem
    case end

    private var parts: (kind: UInt8, content: [UInt8]) {
        switch self {
        case .start(let json): (1, json)
        case .account(let json): (2, json)
        case .item(let name): (3, Array(name.rawValue.utf8))
        case .piece(let bytes): (4, bytes)
        case .endOfItem: (5, [])
        case .end: (6, [])
        }
    }

    /// `kind ‖ length of the content (4 bytes) ‖ content`.
    package var bytes: [UInt8] {
        let (kind, content) = parts
        return [kind] + BackupHeader.bigEndian(UInt32(content.count)) + content
    }

    /// The largest size of the content of a kind, in bytes; nil for an unknown kind.
    fileprivate static func limit(_ kind: UInt8) -> Int? {
        switch kind {
        case 1: 4_096
        case 2: 1 << 20
        case 3: 255
        case 4: 65_536
        case 5, 6: 0
        default: nil
        }
    }

    fileprivate init(kind: UInt8, content: [UInt8]) throws {
        switch kind {
        case 1: self = .start(content)
        case 2: self = .account(content)
        case 3:
            guard let name = String(validating: content, as: UTF8.self).map(ItemName.init(rawValue:)),
                (try? name.requireOfApp()) != nil
            else { throw VaultError.damagedBackup }
            self = .item(name)
        case 4: self = .piece(content)
        case 5: self = .endOfItem
        case 6: self = .end
        default: throw VaultError.damagedBackup
        }
    }
}

/// Reads records from pieces of bytes. The bytes come from outside, so each length is checked before it is used.
package struct BackupParser: Sendable {
    private var buffer: [UInt8] = []
    private var used = 0
    private var state = State.start
    /// The size of the item so far, in bytes.
    private var itemSize = 0

    private enum State { case start, accounts, account, item, over }

    package init() {}

    /// Whether the `end` record was read and nothing follows it.
    package var isComplete: Bool { state == .over && used == buffer.count }

    package mutating func append(_ bytes: [UInt8]) {
        buffer.removeFirst(used)
        used = 0
        buffer += bytes
    }

    /// - Returns: nil if there is no complete record yet.
    /// - Throws: ``VaultError`` with code `backupInvalid`.
    package mutating func next() throws -> BackupRecord? {
        let left = buffer[used...]
        guard let kind = left.first else { return nil }
        guard let limit = BackupRecord.limit(kind), state != .over else { throw VaultError.damagedBackup }
        guard left.count >= 5 else { return nil }
        let size = left[(used + 1)..<(used + 5)].reduce(0) { $0 << 8 | Int($1) }
        guard size <= limit else { throw VaultError.damagedBackup }
        guard left.count >= 5 + size else { return nil }
        let record = try BackupRecord(kind: kind, content: Array(left[(used + 5)..<(used + 5 + size)]))
        used += 5 + size
        try follow(record)
        return record
    }

    private mutating func follow(_ record: BackupRecord) throws {
        switch (state, record) {
        case (.start, .start): state = .accounts
        case (.accounts, .account), (.account, .account): state = .account
        case (.account, .item): (state, itemSize) = (.item, 0)
        case (.item, .piece(let bytes)):
            itemSize += bytes.count
            guard itemSize <= ItemContents.maximumSize else { throw VaultError.damagedBackup }
        case (.item, .endOfItem): state = .account
        case (.accounts, .end), (.account, .end): state = .over
        default: throw VaultError.damagedBackup
        }
    }
}
