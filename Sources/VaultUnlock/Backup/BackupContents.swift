public import Foundation
public import VaultStorage

/// The contents of a backup, without the content of the items.
public struct BackupContents: Sendable, Hashable {
    /// The time when the backup was made.
    public let createdAt: Date
    /// The accounts in it.
    public let accounts: [Account]

    /// An account in a backup, without tokens, keys and unlock methods.
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
        /// The kinds of unlock methods on the old machine. They are bound to that machine, so the backup
        /// cannot open with them.
        public let unlockMethods: [Keyslot.Kind]
        /// The names of the items.
        public var items: [ItemName]

        /// The name of the account for people.
        public var displayName: String { alias ?? preferredUsername ?? email ?? id.subject }

        /// Makes an account for an app's own tests. The parameters are the properties.
        public init(
            id: AccountID, alias: String? = nil, email: String? = nil, preferredUsername: String? = nil,
            method: SignInMethod = .openIDConnect, clientID: String = "", keyServiceURL: String = "",
            unlockMethods: [Keyslot.Kind] = [], items: [ItemName] = []
        ) {
            self.id = id
            self.alias = alias
            self.email = email
            self.preferredUsername = preferredUsername
            self.method = method
            self.clientID = clientID
            self.keyServiceURL = keyServiceURL
            self.unlockMethods = unlockMethods
            self.items = items
        }
    }

    /// Makes contents for an app's own tests.
    ///
    /// - Parameters:
    ///   - createdAt: the time when the backup was made.
    ///   - accounts: the accounts in it.
    public init(createdAt: Date, accounts: [Account]) {
        self.createdAt = createdAt
        self.accounts = accounts
    }
}

/// The result of the import of one account.
public struct BackupImport: Sendable, Hashable {
    /// The items that were stored.
    public let items: [ItemName]
    /// The items that were not replaced, because the account already had items with these names.
    public let keptItems: [ItemName]
    /// Whether the account lost its alias, because another account here has that name.
    public let aliasWasTaken: Bool

    /// Makes a result for an app's own tests.
    public init(items: [ItemName], keptItems: [ItemName], aliasWasTaken: Bool) {
        (self.items, self.keptItems, self.aliasWasTaken) = (items, keptItems, aliasWasTaken)
    }
}

/// The first record.
struct BackupStart: Codable {
    let createdAt: Date
}

/// The data of one account in a backup, before it is sealed.
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
    /// The kinds of the unlock methods. Their keyslots are bound to the machine.
    let unlockMethods: [String]
    /// What apps stored with the account in the clear; nil if it was damaged.
    let unsealedMetadata: [String: String]?

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
        unlockMethods = account.keyslots.map(\.kind.rawValue)
        unsealedMetadata = account.unsealedMetadata
    }

    /// - Throws: ``VaultError`` with code `backupInvalid`.
    init(json: [UInt8]) throws {
        guard let account = try? JSONDecoder().decode(Self.self, from: Data(json)), !account.issuer.isEmpty,
            !account.subject.isEmpty
        else { throw VaultError.damagedBackup }
        self = account
    }

    var id: AccountID { AccountID(issuer: issuer, subject: subject) }

    /// The same data for people.
    var summary: BackupContents.Account {
        BackupContents.Account(
            id: id, alias: alias, email: email, preferredUsername: preferredUsername,
            method: SignInMethod(rawValue: method), clientID: clientID, keyServiceURL: keyServiceURL,
            unlockMethods: unlockMethods.map(Keyslot.Kind.init(rawValue:)), items: [])
    }

    /// Makes a new account from the data, with another device secret.
    func account(alias: String?, deviceSecret: [UInt8], now: Date) -> Account {
        Account(
            id: id, alias: alias, email: email, preferredUsername: preferredUsername,
            method: SignInMethod(rawValue: method), clientID: clientID,
            layout: layout.map { .json(Array($0)) }, keyServiceURL: keyServiceURL, deviceSecret: deviceSecret,
            createdAt: now)
    }
}
