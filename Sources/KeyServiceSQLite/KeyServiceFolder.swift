internal import Foundation
package import KeyServiceCore

/// The files of a key service on one machine: the data folder with the database, the master keys, and the high-water
/// mark.
package struct KeyServiceFolder: Sendable {
    /// The path of the data folder.
    package let path: String
    package let masterKeyPath: String
    /// The paths of older master keys, which some records still need.
    package let oldMasterKeyPaths: [String]
    /// The path of the high-water mark. It must not be restored together with the database.
    package let highWaterMarkPath: String
    private let secretsPath: String
    let masterKeyIsCredential: Bool

    /// Names the files.
    ///
    /// - Parameters:
    ///   - path: the data folder, which need not exist.
    ///   - masterKeyFile: the path of the master key file; nil for `master.key` in the folder `PATH-secrets`.
    ///   - oldMasterKeyFiles: the paths of the master keys before it.
    ///   - highWaterMarkFile: the path of the high-water mark; nil for `high-water-mark` in the folder `PATH-secrets`.
    ///   - credentialsDirectory: the value of `$CREDENTIALS_DIRECTORY` if systemd gives the service its master key as
    ///     the credential `master.key`, and perhaps `old-master.key`; otherwise nil.
    package init(
        path: String, masterKeyFile: String? = nil, oldMasterKeyFiles: [String] = [], highWaterMarkFile: String? = nil,
        credentialsDirectory: String? = nil
    ) {
        self.path = Self.normal(path)
        secretsPath = self.path + "-secrets"
        masterKeyIsCredential = credentialsDirectory != nil
        var oldPaths = oldMasterKeyFiles
        if let credentialsDirectory {
            masterKeyPath = credentialsDirectory + "/master.key"
            let old = credentialsDirectory + "/old-master.key"
            if access(old, F_OK) == 0 { oldPaths.append(old) }
        } else {
            masterKeyPath = masterKeyFile ?? secretsPath + "/master.key"
        }
        oldMasterKeyPaths = oldPaths
        highWaterMarkPath = highWaterMarkFile ?? secretsPath + "/high-water-mark"
    }

    /// Returns the path without slashes at its end. A path that does not end in the folder's own name, such as ".", is
    /// resolved, because the name of the other folder is made from it.
    private static func normal(_ path: String) -> String {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        let isLink = (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) != nil
        let name = path.split(separator: "/").last
        guard isLink || name == "." || name == ".." else { return path }
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// The path of the database.
    var databasePath: String { path + "/keys.sqlite" }

    /// Makes the folders, the master key, the database and the high-water mark. A master key file that was named may
    /// exist already.
    ///
    /// - Parameter mayUseKey: whether an existing master key file is used.
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if the folder has a database, or if there is
    ///   a master key that was not named. Nothing is overwritten.
    package func create(mayUseKey: Bool = false) async throws {
        try PrivateFile.prepareFolder(path: path, mayCreate: true)
        guard access(databasePath, F_OK) != 0 else {
            throw KeyServiceServerError(
                .configurationInvalid, "\(databasePath) already exists, and is not overwritten. Choose another folder.")
        }
        let (masterKey, mark) = try makeSecrets(mayUseKey: mayUseKey)
        let store = try SQLiteKeyRecordStore(path: databasePath, for: .create)
        defer { store.close() }
        try await store.addMasterKey(masterKey.makeEntry())
        _ = try await store.makeIdentity(MasterKeys(masterKey))
        try await mark.raise(to: store.state())
    }

    /// Makes the master key, or reads the named one, and the high-water mark of a new store.
    func makeSecrets(mayUseKey: Bool) throws -> (masterKey: MasterKey, mark: HighWaterMark) {
        try makeSecretsFolder()
        let mark = try HighWaterMark(path: highWaterMarkPath)
        guard mark.generation == 0 else {
            throw KeyServiceServerError(
                .configurationInvalid,
                "\(highWaterMarkPath) belongs to another database. Remove it, or choose another folder.")
        }
        let masterKey =
            (mayUseKey || masterKeyIsCredential) && access(masterKeyPath, F_OK) == 0
            ? try MasterKeyFile.read(path: masterKeyPath, isCredential: masterKeyIsCredential)
            : try MasterKeyFile.create(path: masterKeyPath)
        return (masterKey, mark)
    }

    func makeSecretsFolder() throws {
        for file in [masterKeyPath, highWaterMarkPath] where file.hasPrefix(secretsPath + "/") {
            do {
                try PrivateFile.prepareFolder(path: secretsPath, mayCreate: true)
            } catch let error as KeyServiceServerError where access(secretsPath, F_OK) != 0 {
                throw KeyServiceServerError(
                    .configurationInvalid,
                    """
                    \(error.description) Make it, for the user of the service: install -d -m 700 \(secretsPath)
                    """)
            }
        }
    }

    /// Opens the folder for a server, and locks out other servers.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if a file is missing or readable by others,
    ///   or a master key is not the database's, `busy` if another server uses the folder, `rolledBack`, `storeTooNew`
    ///   or `storeUnusable`.
    package func open() async throws -> OpenedStore {
        try PrivateFile.prepareFolder(path: path, mayCreate: false)
        let masterKeys = try masterKeys()
        let store = try openLocked()
        do {
            return try await OpenedStore(
                store, masterKeys: masterKeys, mark: HighWaterMark(path: highWaterMarkPath))
        } catch {
            store.close()
            throw error
        }
    }

    /// Opens the database as a server does, without looking at its content.
    func openLocked() throws -> SQLiteKeyRecordStore {
        try PrivateFile.prepareFolder(path: path, mayCreate: false)
        let lock = try FolderLock(server: path)
        try makeSecretsFolder()
        return try SQLiteKeyRecordStore(path: databasePath, for: .serve(lock))
    }

    /// Opens the folder for a server. If it has neither a database nor a master key, makes them first.
    package func openCreatingIfAbsent() async throws -> OpenedStore {
        if access(databasePath, F_OK) != 0 && access(masterKeyPath, F_OK) != 0 { try await create() }
        return try await open()
    }

    /// Opens only the database, for an operator. A server may run at the same time.
    ///
    /// - Parameter toRead: whether nothing will be changed. Then the keys may have been moved into another store.
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` also if an older version of the service
    ///   wrote the database, as only a server changes it; and if the keys were moved. `busy` during a move.
    package func openStore(toRead: Bool = false) throws -> SQLiteKeyRecordStore {
        try PrivateFile.prepareFolder(path: path, mayCreate: false)
        let lock = toRead ? nil : try FolderLock(folder: path, toMove: false)
        let store = try SQLiteKeyRecordStore(path: databasePath, for: .operate(lock))
        if !toRead { try store.checkInUse() }
        return store
    }

    /// Reads the master keys.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid`, which names the problem with the file.
    package func masterKeys() throws -> MasterKeys {
        MasterKeys(
            try MasterKeyFile.read(path: masterKeyPath, isCredential: masterKeyIsCredential),
            old: try oldMasterKeyPaths.map { path in
                try MasterKeyFile.read(path: path, isCredential: masterKeyIsCredential)
            })
    }
}
