internal import Foundation

/// The data folder of a key service: the database, and the master key unless it is elsewhere.
public struct KeyServiceFolder: Sendable {
    /// The path of the folder.
    public let path: String
    /// The path of the master key file.
    public let masterKeyPath: String
    private let masterKeyIsCredential: Bool

    /// - Parameters:
    ///   - path: the folder, which need not exist.
    ///   - masterKeyFile: the path of the master key file; nil for `master.key` in the folder.
    public init(path: String, masterKeyFile: String? = nil) {
        self.init(path: path, masterKeyPath: masterKeyFile ?? path + "/master.key", isCredential: false)
    }

    /// Describes the folder of a systemd service with its master key as the credential `master.key`.
    ///
    /// - Parameters:
    ///   - path: the folder of the data.
    ///   - credentialsDirectory: the value of `$CREDENTIALS_DIRECTORY`.
    public init(path: String, credentialsDirectory: String) {
        self.init(path: path, masterKeyPath: credentialsDirectory + "/master.key", isCredential: true)
    }

    private init(path: String, masterKeyPath: String, isCredential: Bool) {
        self.path = path
        self.masterKeyPath = masterKeyPath
        masterKeyIsCredential = isCredential
    }

    private var databasePath: String { path + "/keys.sqlite" }

    /// Makes the folder, the master key and the database. A master key file outside the folder may exist already.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if the folder has a database or a master
    ///   key. Nothing is overwritten.
    public func create() throws {
        try PrivateFile.prepareFolder(path: path, mayCreate: true)
        guard access(databasePath, F_OK) != 0 else {
            throw KeyServiceServerError(
                .configurationInvalid, "\(databasePath) already exists, and is not overwritten. Choose another folder.")
        }
        let isElsewhere = masterKeyPath != path + "/master.key"
        let masterKey =
            isElsewhere && access(masterKeyPath, F_OK) == 0
            ? try MasterKeyFile.read(path: masterKeyPath, isCredential: masterKeyIsCredential)
            : try MasterKeyFile.create(path: masterKeyPath)
        let store = try SQLiteKeyRecordStore(path: databasePath, mayCreate: true)
        _ = try store.commit([.checkIn(masterKeyCheck: masterKey.makeCheck(), time: 0)])
    }

    /// Opens the folder for a server, and locks out other servers.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if a file is missing or readable by others,
    ///   `busy` if another server uses the folder, `storeTooNew` or `storeUnusable`.
    public func open() throws -> (store: SQLiteKeyRecordStore, masterKey: MasterKey) {
        try PrivateFile.prepareFolder(path: path, mayCreate: false)
        let masterKey = try MasterKeyFile.read(path: masterKeyPath, isCredential: masterKeyIsCredential)
        let lock = try FolderLock(path: path + "/server.lock")
        return (try SQLiteKeyRecordStore(path: databasePath, mayCreate: false, lock: lock), masterKey)
    }

    /// Opens the folder for a server. If it has neither a database nor a master key, makes them first.
    public func openCreatingIfAbsent() throws -> (store: SQLiteKeyRecordStore, masterKey: MasterKey) {
        if access(databasePath, F_OK) != 0 && access(masterKeyPath, F_OK) != 0 { try create() }
        return try open()
    }

    /// Opens only the database, for an operator. A server may run at the same time.
    public func openStore() throws -> SQLiteKeyRecordStore {
        try PrivateFile.prepareFolder(path: path, mayCreate: false)
        return try SQLiteKeyRecordStore(path: databasePath, mayCreate: false)
    }

    /// Returns the tags that stand for key ids in the log of this folder's server.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if the master key cannot be read.
    public func keyTags() throws -> KeyTags {
        try KeyTags(MasterKeyFile.read(path: masterKeyPath, isCredential: masterKeyIsCredential))
    }
}
