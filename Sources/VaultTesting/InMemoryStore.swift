internal import VaultBase
public import VaultStorage

/// A store in memory, for an app's own tests.
public final class InMemoryStore: SecureStore {
    private struct Content {
        var account: Account
        var staged: Keyslot?
        var items: [ItemName: [UInt8]] = [:]
        var chunks: [ItemName: [[UInt8]]] = [:]
    }

    private struct State {
        var order: [AccountID] = []
        var contents: [AccountID: Content] = [:]
        var writeFailure: StoreError?
        var records: [String: [UInt8]] = [:]
    }

    private let state = Lock(State())
    let locks = Lock(Locks())
    let holders = LockHolders()

    /// Makes an empty store.
    public init() {}

    /// The error of every write, to simulate a full disk; nil for none.
    public var writeFailure: StoreError? {
        get { state.withLock { $0.writeFailure } }
        set { state.withLock { $0.writeFailure = newValue } }
    }

    /// Gives all accounts, oldest first.
    public func accounts() async throws -> [Account] {
        state.withLock { state in state.order.compactMap { state.contents[$0]?.account } }
    }

    /// Finds the accounts with `name` as subject, alias, e-mail address or preferred user name.
    public func accounts(named name: String) async throws -> [Account] {
        try await accounts().filter { $0.isNamed(name) }
    }

    /// Gives one account; nil when there is none.
    public func account(_ id: AccountID) async throws -> Account? {
        state.withLock { $0.contents[id]?.account }
    }

    /// Gives the sealed bytes of an item; nil when there is none. Of an item in chunks it gives the head.
    public func item(_ name: ItemName, of id: AccountID) async throws -> [UInt8]? {
        state.withLock { $0.contents[id]?.items[name] }
    }

    /// Gives one sealed chunk of an item, counted from 0; nil when there is none, or when the item has another head
    /// now.
    public func chunk(
        _ number: Int, ofItem name: ItemName, head: [UInt8], of id: AccountID
    ) async throws -> [UInt8]? {
        state.withLock { state in
            guard let content = state.contents[id], content.items[name] == head, let chunks = content.chunks[name],
                chunks.indices.contains(number)
            else { return nil }
            return chunks[number]
        }
    }

    /// Gives the names of an account's items, sorted.
    public func itemNames(of id: AccountID) async throws -> [ItemName] {
        state.withLock { ($0.contents[id]?.items.keys).map { $0.sorted { $0.rawValue < $1.rawValue } } ?? [] }
    }

    /// Gives the keyslot that a change of password staged; nil when there is none.
    public func stagedKeyslot(of id: AccountID) async throws -> Keyslot? {
        state.withLock { $0.contents[id]?.staged }
    }

    /// Makes all `changes`, or none of them.
    ///
    /// - Throws: ``StoreError``: ``writeFailure``, if it is set. `noSuchAccount`, `aliasTaken` and `reservedName`, as a
    ///   store on a disk throws them.
    public func apply(_ changes: [StoreChange], to id: AccountID) async throws {
        for change in changes { try change.requireWritable() }
        try state.withLock { state in
            if let failure = state.writeFailure { throw failure }
            var (content, records) = (state.contents[id], state.records)
            for change in changes {
                if case .changeRecord(let name, _, let change) = change {
                    try change(&records[name])
                } else {
                    try Self.make(change, &content, id)
                    if case .removeAccount = change {
                        records = records.filter { !$0.key.hasPrefix(id.recordPrefix) }
                    }
                }
            }
            if let alias = content?.account.alias, alias != state.contents[id]?.account.alias,
                let owner = state.contents.first(where: { $0.key != id && $0.value.account.isNamed(alias) })
            {
                throw StoreError(
                    .aliasTaken, "The alias \(alias) is a name of \(owner.key) already. Choose another alias.")
            }
            if content != nil && state.contents[id] == nil { state.order.append(id) }
            if content == nil { state.order.removeAll { $0 == id } }
            (state.contents[id], state.records) = (content, records)
        }
    }

    private static func make(_ change: StoreChange, _ content: inout Content?, _ id: AccountID) throws {
        if case .putAccount(var account) = change {
            account.keyslots = content?.account.keyslots ?? []
            account.unsealedMetadata = content?.account.unsealedMetadata ?? [:]
            account.refreshStartedAt = content?.account.refreshStartedAt
            account.lastOnlineAt = content?.account.lastOnlineAt
            account.grantedScope = content?.account.grantedScope
            account.accessTokenType = content?.account.accessTokenType
            account.accessTokenExpiresAt = content?.account.accessTokenExpiresAt
            account.refusedAt = content?.account.refusedAt
            account.displayClaims = content?.account.displayClaims ?? [:]
            content = Content(
                account: account, staged: content?.staged, items: content?.items ?? [:], chunks: content?.chunks ?? [:])
            return
        }
        guard var new = content else { throw StoreError(.noSuchAccount, "There is no account \(id) any more.") }
        switch change {
        case .putAccount, .changeRecord: break  // other functions handle these
        case .removeAccount:
            content = nil
            return
        case .putKeyslot(let slot): new.account.keyslots.append(slot)
        case .stageKeyslot(let slot): new.staged = slot
        case .activateKeyslot(let slot):
            guard let staged = new.staged, staged.id == slot else {
                throw StoreError(.noSuchAccount, "The keyslot is not staged.")
            }
            new.account.keyslots.append(staged)
            new.staged = nil
        case .removeKeyslot(let slot):
            new.account.keyslots.removeAll { $0.id == slot }
            if new.staged?.id == slot { new.staged = nil }
        case .renameKeyslot(let slot, let label): Self.change(slot, in: &new) { $0.label = label }
        case .noteUse(let slot, let date): Self.change(slot, in: &new) { $0.lastUsedAt = date }
        case .changeUnsealedMetadata(let change):
            var metadata = new.account.unsealedMetadata ?? [:]
            try change(&metadata)
            new.account.unsealedMetadata = metadata
        case .noteOnline(let date): new.account.lastOnlineAt = date
        case .noteTokens(let scope, let type, let end):
            (new.account.grantedScope, new.account.accessTokenType) = (scope, type)
            new.account.accessTokenExpiresAt = end
        case .noteRefusal(let date): new.account.refusedAt = date
        case .putDisplayClaims(let claims): new.account.displayClaims = claims
        case .putItem(let name, let sealed):
            (new.items[name], new.chunks[name]) = (sealed, nil)
            if name == .refreshToken { new.account.refusedAt = nil }
        case .putChunks(let name, let head, let chunks):
            var stored: [[UInt8]] = []
            try chunks.read { stored.append($1) }
            (new.items[name], new.chunks[name]) = (head, stored)
        case .resealItems(let reseal):
            new.items = try Dictionary(
                uniqueKeysWithValues: new.items.map { ($0.key, try reseal($0.key, $0.value)) })
        case .removeItem(let name):
            (new.items[name], new.chunks[name]) = (nil, nil)
            if name == .accessToken { new.account.accessTokenExpiresAt = nil }
            if name == .refreshToken { new.account.refusedAt = nil }
        case .beginRefresh(let date): new.account.refreshStartedAt = date
        case .endRefresh: new.account.refreshStartedAt = nil
        }
        content = new
    }

    private static func change(_ slot: String, in content: inout Content, _ change: (inout Keyslot) -> Void) {
        for index in content.account.keyslots.indices where content.account.keyslots[index].id == slot {
            change(&content.account.keyslots[index])
        }
        if var staged = content.staged, staged.id == slot {
            change(&staged)
            content.staged = staged
        }
    }

    /// Reads and changes a record.
    ///
    /// - Throws: ``writeFailure``, if it is set and the bytes changed. Errors of `change`. The record is as it was
    ///   then.
    public func withRecord<R: Sendable>(
        _ name: String, _ change: @escaping @Sendable (inout [UInt8]?) throws -> R
    ) async throws -> R {
        try state.withLock { state in
            var value = state.records[name]
            let result = try change(&value)
            if value != state.records[name], let failure = state.writeFailure { throw failure }
            state.records[name] = value
            return result
        }
    }

    /// Returns if writes do not fail now.
    ///
    /// - Throws: ``writeFailure``, if it is set.
    public func checkWritable() async throws {
        if let failure = writeFailure { throw failure }
    }
}

extension Account {
    fileprivate func isNamed(_ name: String) -> Bool { [id.subject, alias, email, preferredUsername].contains(name) }
}
