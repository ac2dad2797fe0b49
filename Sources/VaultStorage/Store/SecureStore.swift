internal import Foundation

/// A store for accounts, keyslots and sealed items. Every secret is sealed before it gets here.
///
/// A conformer must not assume that it is the only writer: other processes may have changed anything since the last
/// call. Each ``apply(_:to:)`` is atomic and durable when it returns, unless all of its changes may be lost
/// (``StoreChange/noteUse(ofKeyslot:_:)``). A read never deletes or repairs anything. It tells *missing* (nil or
/// empty), *unreadable right now* and *corrupt* apart. Each function throws ``StoreError``, or the error of a closure
/// that it was given.
public protocol SecureStore: Sendable {
    /// All accounts, oldest first.
    func accounts() async throws -> [Account]

    /// The accounts whose subject, alias, e-mail address or preferred user name is `name`. More than one may match.
    func accounts(named name: String) async throws -> [Account]

    /// One account, or nil when there is none.
    func account(_ id: AccountID) async throws -> Account?

    /// The sealed bytes of an item, or nil if there is none. For an item in chunks, these are the head.
    func item(_ name: ItemName, of id: AccountID) async throws -> [UInt8]?

    /// A chunk of an item that ``StoreChange/putChunks(_:head:_:)`` wrote, counted from 0.
    ///
    /// - Parameters:
    ///   - number: the number of the chunk, counted from 0.
    ///   - name: the name of the item.
    ///   - head: the bytes that ``item(_:of:)`` returned. If other bytes are stored now, the chunks have changed, too.
    ///   - id: the account.
    /// - Returns: nil if there is no such chunk, or the head has changed.
    func chunk(_ number: Int, ofItem name: ItemName, head: [UInt8], of id: AccountID) async throws -> [UInt8]?

    /// The folder for files without a name. The chunks of an item wait there until all are written.
    var folderForChunks: String { get }

    /// The names of an account's items, sorted.
    func itemNames(of id: AccountID) async throws -> [ItemName]

    /// The keyslot that a change of password staged, or nil.
    func stagedKeyslot(of id: AccountID) async throws -> Keyslot?

    /// Makes all `changes` to one account, or none of them.
    func apply(_ changes: [StoreChange], to id: AccountID) async throws

    /// Reads and changes a record that is not sealed. `change` gets the bytes of the record, or nil, and sets the new
    /// bytes. Nobody else changes the record meanwhile. Only its name says which account it belongs to: see
    /// ``AccountID/recordPrefix``.
    func withRecord<R: Sendable>(
        _ name: String, _ change: @escaping @Sendable (inout [UInt8]?) throws -> R
    ) async throws -> R

    /// Runs `body` with the lock of one account. No other task or process has this lock meanwhile. The lock also ends
    /// when the process ends, even if the process is killed.
    ///
    /// A conformer must not assume that the lock ends when `body` returns or throws. It ends with the ``AccountLock``,
    /// which `body` may have kept. Until then nobody gets this account's lock, not even from the same store.
    ///
    /// `body` must not ask for the same account's lock: it would wait for itself.
    ///
    /// - Throws: ``StoreError`` with code `busy` if one holder keeps the lock for 60 seconds, or if the wait takes ten
    ///   minutes in all: try again. `alreadyLocked`, at once, if the task that runs `body` asks for the same account's
    ///   lock: correct the program.
    func withLock<R: Sendable>(on id: AccountID, _ body: @Sendable (AccountLock) async throws -> R) async throws -> R

    /// Whether any keyslot of any account uses this key of a key service, also a staged or damaged keyslot. Such a key
    /// must not be ended.
    func usesKey(_ keyID: String) async throws -> Bool

    /// Checks whether the store can be written. It leaves nothing behind.
    func checkWritable() async throws
}

extension SecureStore {
    /// The system's folder for temporary files.
    public var folderForChunks: String { FileManager.default.temporaryDirectory.path(percentEncoded: false) }

    /// Looks at every account. A store with a quicker way implements its own.
    public func usesKey(_ keyID: String) async throws -> Bool {
        for account in try await accounts() {
            let damaged = account.damagedKeyslots.compactMap(\.keyID)
            let staged = try await stagedKeyslot(of: account.id)?.keyID
            if (account.keyslots.map(\.keyID) + damaged).contains(keyID) || staged == keyID { return true }
        }
        return false
    }
}

/// The hold on one account's lock. ``SecureStore/withLock(on:_:)`` gives it to its closure. The lock lasts as long as
/// this value: keep the value to keep the lock after the closure has returned.
public final class AccountLock: Sendable {
    private let release: @Sendable () -> Void

    /// - Parameter release: ends the lock. It is called once, on any thread, and must not wait.
    public init(release: @escaping @Sendable () -> Void) { self.release = release }

    deinit { release() }
}
