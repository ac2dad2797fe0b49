public import Foundation

/// What a backup holds, without the content of the items.
public struct BackupContents: Sendable, Hashable {
    /// When it was made.
    public let createdAt: Date
    /// The accounts in it.
    public let accounts: [Account]

    /// An account in a backup. Its tokens, keys and ways in are not there.
    public struct Account: Sendable, Hashable {
        /// The id of the account: issuer and subject.
        public let id: AccountID
        /// The name that the person chose.
        public let alias: String?
        /// The e-mail address of the last ID token before the backup.
        public let email: String?
        /// The `preferred_username` of the last ID token before the backup.
        public let preferredUsername: String?
        /// How the account signs in.
        public let method: SignInMethod
        /// The client that registered the account; empty if the method has no clients.
        public let clientID: String
        /// The base URL of the key service that held the account's keys.
        public let keyServiceURL: String
        /// The ways into the account where the backup was made. They stay there: each is bound to that machine.
        public let waysIn: [Keyslot.Kind]
        /// The names of the items.
        public var items: [ItemName]

        /// What to call the account in front of a person.
        public var displayName: String { alias ?? preferredUsername ?? email ?? id.subject }
    }
}

/// What came of importing one account.
public struct BackupImport: Sendable, Hashable {
    /// The items that were stored.
    public let items: [ItemName]
    /// The items that stayed as they were, because the account had items of these names.
    public let keptItems: [ItemName]
    /// Whether the account came without its alias, because another account here has that name.
    public let aliasWasTaken: Bool

    /// For an app's own tests.
    public init(items: [ItemName], keptItems: [ItemName], aliasWasTaken: Bool) {
        (self.items, self.keptItems, self.aliasWasTaken) = (items, keptItems, aliasWasTaken)
    }
}

/// The first record.
struct BackupStart: Codable {
    let createdAt: Date
}

/// What a backup holds of an account in the clear text of its stream.
struct BackupAccount: Codable {
    let issuer: String
    let subject: String
    let alias: String?
    let email: String?
    let preferredUsername: String?
    let method: String
    let clientID: String
    let layout: Data?
    let keyServiceURL: String
    /// Of which kinds they are. The rest of a way in is bound to its machine.
    let waysIn: [String]

    /// - Throws: ``StoreError`` with code `corrupt` when the layout is damaged.
    init(_ account: Account) throws {
        if account.layout == .damaged {
            throw StoreError(.corrupt, "The stored backend file of \(account.id) is damaged.")
        }
        (issuer, subject, alias) = (account.id.issuer, account.id.subject, account.alias)
        (email, preferredUsername) = (account.email, account.preferredUsername)
        (method, clientID) = (account.method.rawValue, account.clientID)
        layout = account.layout?.bytes.map { Data($0) }
        keyServiceURL = account.keyServiceURL
        waysIn = account.keyslots.map(\.kind.rawValue)
    }

    /// - Throws: ``VaultError`` with code `backupInvalid`.
    init(json: [UInt8]) throws {
        guard let account = try? JSONDecoder().decode(Self.self, from: Data(json)), !account.issuer.isEmpty,
            !account.subject.isEmpty
        else { throw VaultError.damagedBackup }
        self = account
    }

    var id: AccountID { AccountID(issuer: issuer, subject: subject) }

    /// For a person to look at.
    var summary: BackupContents.Account {
        BackupContents.Account(
            id: id, alias: alias, email: email, preferredUsername: preferredUsername,
            method: SignInMethod(rawValue: method), clientID: clientID, keyServiceURL: keyServiceURL,
            waysIn: waysIn.map(Keyslot.Kind.init(rawValue:)), items: [])
    }

    /// A new account like it, with a device secret of its own.
    func account(alias: String?, deviceSecret: [UInt8], now: Date) -> Account {
        Account(
            id: id, alias: alias, email: email, preferredUsername: preferredUsername,
            method: SignInMethod(rawValue: method), clientID: clientID,
            layout: layout.map { .json(Array($0)) }, keyServiceURL: keyServiceURL, deviceSecret: deviceSecret,
            createdAt: now)
    }
}
