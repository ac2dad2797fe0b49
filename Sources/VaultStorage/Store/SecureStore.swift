internal import Foundation

/// Where accounts, keyslots and sealed items are kept. Everything secret is sealed before it gets here.
///
/// A conformer must not assume that it is the only one who writes: other processes may have changed anything since the
/// last call. Each ``apply(_:to:)`` is atomic and is durable when it returns, unless all of its changes may be lost
/// (``StoreChange/noteUse(ofKeyslot:_:)``). A read never deletes or repairs anything, and tells *missing* (nil or
/// empty), *unreadable right now* and *corrupt* apart. It throws ``StoreError``, or what a closure that it was given
/// throws.
public protocol SecureStore: Sendable {
    /// All accounts, oldest first.
    func accounts() async throws -> [Account]

    /// The accounts whose subject, alias, e-mail address or preferred user name is `name`. More than one may match.
    func accounts(named name: String) async throws -> [Account]

    /// One account, or nil when there is none.
    func account(_ id: AccountID) async throws -> Account?

    /// The sealed bytes of an item, or nil when there is none. Of an item in chunks it is the head.
    func item(_ name: ItemName, of id: AccountID) async throws -> [UInt8]?

    /// A chunk of an item that ``StoreChange/putChunks(_:head:_:)`` wrote, counted from 0.
    ///
    /// - Parameters:
    ///   - number: the number of the chunk, counted from 0.
    ///   - name: the name of the item.
    ///   - head: what ``item(_:of:)`` gave. Other bytes may be stored by now, and their chunks are others.
    ///   - id: the account.
    /// - Returns: nil when there is no such chunk, or the head is another one now.
    func chunk(_ number: Int, ofItem name: ItemName, head: [UInt8], of id: AccountID) async throws -> [UInt8]?

    /// A folder for files without a name, in which the chunks of an item wait until all of them are there.
    var folderForChunks: String { get }

    /// The names of an account's items, sorted.
    func itemNames(of id: AccountID) async throws -> [ItemName]

    /// A keyslot that was staged by a change of password, or nil.
    func stagedKeyslot(of id: AccountID) async throws -> Keyslot?

    /// Makes all `changes` to one account, or none of them.
    func apply(_ changes: [StoreChange], to id: AccountID) async throws

    /// Reads and changes a record that is not sealed: `change` gets its bytes, nil when there are none, and leaves what
    /// is to be there afterwards. Nobody else changes the record meanwhile. It belongs to an account only by its name:
    /// see ``AccountID/recordPrefix``.
    func withRecord<R: Sendable>(
        _ name: String, _ change: @escaping @Sendable (inout [UInt8]?) throws -> R
    ) async throws -> R

    /// Runs `body` while nobody else, in this process or another, runs one for the same account. The lock ends with the
    /// process that holds it, however that ends.
    ///
    /// A conformer must not assume that the lock ends when `body` returns or throws: it ends with the ``AccountLock``,
    /// which `body` may have kept. Until then nobody gets this account's lock, also not by asking the same store again.
    ///
    /// `body` must not ask for the same account's lock: it would wait for itself.
    ///
    /// - Throws: ``StoreError`` with code `busy` when the lock is not free within a minute: try again; `alreadyLocked` at
    ///   once when the task that runs `body` asks for the same account's lock in it.
    func withLock<R: Sendable>(on id: AccountID, _ body: @Sendable (AccountLock) async throws -> R) async throws -> R

    /// Whether a keyslot of any account has the key of this id at its key service; staged and damaged ones count, too.
    /// Such a key must not be ended.
    func usesKey(_ keyID: String) async throws -> Bool

    /// Finds out whether the store can be written, without leaving a trace.
    func checkWritable() async throws
}

extension SecureStore {
    /// The system's folder for temporary files.
    public var folderForChunks: String { FileManager.default.temporaryDirectory.path(percentEncoded: false) }

    /// Looks at every account: for stores that have no quicker way.
    public func usesKey(_ keyID: String) async throws -> Bool {
        for account in try await accounts() {
            let damaged = account.damagedKeyslots.compactMap(\.keyID)
            let staged = try await stagedKeyslot(of: account.id)?.keyID
            if (account.keyslots.map(\.keyID) + damaged).contains(keyID) || staged == keyID { return true }
        }
        return false
    }
}
