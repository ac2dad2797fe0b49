public import Foundation

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

    /// The sealed bytes of an item, or nil when there is none.
    func item(_ name: ItemName, of id: AccountID) async throws -> [UInt8]?

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

/// One step of a change to an account.
public enum StoreChange: Sendable {
    /// Adds the account, or replaces everything of it but its keyslots, items, refresh mark and last time online. An alias
    /// that it does not have yet must be a name of no other account.
    case putAccount(Account)
    /// Removes the account with all it has, and the records whose names begin with its ``AccountID/recordPrefix``.
    case removeAccount
    /// Adds a keyslot.
    case putKeyslot(Keyslot)
    /// Adds a keyslot that does not count yet, in place of one staged earlier.
    case stageKeyslot(Keyslot)
    /// Makes the staged keyslot count.
    case activateKeyslot(id: String)
    /// Removes a keyslot, staged or not.
    case removeKeyslot(id: String)
    /// Gives a keyslot another label, if it is there still.
    case renameKeyslot(id: String, label: String?)
    /// Notes that a keyslot opened the account, if it is there still. Alone, it may be lost when the machine loses its
    /// power: it is only for a person to look at.
    case noteUse(ofKeyslot: String, Date)
    /// Notes that the provider confirmed the account.
    case noteOnline(Date)
    /// Writes an item's sealed bytes.
    case putItem(ItemName, [UInt8])
    /// Removes an item if it is there.
    case removeItem(ItemName)
    /// Notes that a refresh begins. The conformer also makes sure, as far as it can, that the result will find room.
    case beginRefresh(Date)
    /// Notes that a refresh ended.
    case endRefresh
    /// Changes a record as ``SecureStore/withRecord(_:_:)`` does, in one step with the rest. The account need not be there.
    case changeRecord(String, @Sendable (inout [UInt8]?) throws -> Void)

    /// Whether it may be lost when the machine loses its power.
    public var mayBeLost: Bool {
        if case .noteUse = self { true } else { false }
    }

    /// Refuses to change an item of the vault under a name that an app made up. A conformer calls it for each change.
    ///
    /// - Throws: ``StoreError`` with code `reservedName`.
    public func requireWritable() throws {
        switch self {
        case .putItem(let name, _), .removeItem(let name): try name.requireWritable()
        default: break
        }
    }

    /// Whether something is to be gone afterwards.
    package var removes: Bool {
        switch self {
        case .removeAccount, .removeKeyslot, .removeItem: true
        default: false
        }
    }
}

/// Why the store could not do something. Nothing was deleted.
public struct StoreError: LocalizedError, Sendable, CustomStringConvertible {
    /// What happened. New codes may be added, so a `switch` over them needs a `default`.
    public struct Code: Hashable, Sendable {
        let name: String
        /// The store cannot be read or written right now: a full or read-only disk, an I/O error.
        public static let unreadable = Code(name: "unreadable")
        /// What is stored is damaged.
        public static let corrupt = Code(name: "corrupt")
        /// Somebody else has been holding the store or the account's lock for too long: try again.
        public static let busy = Code(name: "busy")
        /// The task asked for an account's lock while it had that lock: a mistake in the program.
        public static let alreadyLocked = Code(name: "alreadyLocked")
        /// Folder or file belong to another user, or others may read them. The message says how to mend it.
        public static let unsafePermissions = Code(name: "unsafePermissions")
        /// The folder is on a file system that a store is not safe on. The message says what to do.
        public static let unsafeFileSystem = Code(name: "unsafeFileSystem")
        /// A newer version of the program made this store.
        public static let newerVersion = Code(name: "newerVersion")
        /// The account to change is not there (any more).
        public static let noSuchAccount = Code(name: "noSuchAccount")
        /// The alias is a name of another account: choose another one.
        public static let aliasTaken = Code(name: "aliasTaken")
        /// An app's item cannot be called so: choose another name.
        public static let reservedName = Code(name: "reservedName")
        /// Too many wrong guesses at a keyslot that no key service guards: wait for ``StoreError/retryAfter``.
        public static let tooManyGuesses = Code(name: "tooManyGuesses")
    }

    public let code: Code
    /// One sentence for a person.
    public let description: String
    /// With `tooManyGuesses`: how long to wait.
    public let retryAfter: Duration?
    public let underlying: (any Error)?

    public init(
        _ code: Code, _ description: String, retryAfter: Duration? = nil, underlying: (any Error)? = nil
    ) {
        self.code = code
        self.description = description
        self.retryAfter = retryAfter
        self.underlying = underlying
    }

    /// For `localizedDescription`: the same as ``description``.
    public var errorDescription: String? { description }
}
