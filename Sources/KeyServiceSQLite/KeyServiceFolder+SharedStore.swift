internal import Foundation
package import KeyServiceCore

/// The files of one instance of the service, with a store that several instances share. Then the data folder has no
/// database.
extension KeyServiceFolder {
    /// Makes the files of an instance, and gives a new store its master key.
    ///
    /// - Parameters:
    ///   - mayUseKey: whether an existing master key file is used.
    /// - Returns: whether the store is new. If not, the master key file must belong to the store.
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if a file exists that was not named, or the
    ///   master key belongs to another store. Nothing is overwritten.
    package func create(in store: any KeyRecordOperations, mayUseKey: Bool = false) async throws -> Bool {
        let state = try await store.state()
        if let reason = state.retiredBecause { throw KeyServiceServerError(retired: reason) }
        let hasKey = access(masterKeyPath, F_OK) == 0
        guard state.masterKeys.isEmpty || ((mayUseKey || masterKeyIsCredential) && hasKey) else {
            throw KeyServiceServerError(
                .configurationInvalid,
                "The database already has a master key. Copy its file from the other machine, and name it.",
                remedy: .copyMasterKey)
        }
        let (masterKey, mark) = try makeSecrets(mayUseKey: mayUseKey)
        if state.masterKeys.isEmpty {
            try await store.addMasterKey(masterKey.makeEntry())
        } else {
            try await masterKeys().match(store)
        }
        _ = try await store.makeIdentity(masterKeys())
        try await mark.raise(to: store.state())
        return state.masterKeys.isEmpty
    }

    /// Opens a shared store for a server.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if a file is missing or readable by others,
    ///   or a master key is not the store's; `rolledBack`, `busy` or `storeUnusable`.
    package func open(_ store: any KeyRecordOperations) async throws -> OpenedStore {
        try makeSecretsFolder()
        guard access(masterKeyPath, F_OK) == 0 else {
            throw KeyServiceServerError(
                .configurationInvalid, "\(masterKeyPath) does not exist.", remedy: .makeFolder)
        }
        return try await OpenedStore(
            store, masterKeys: masterKeys(), mark: HighWaterMark(path: highWaterMarkPath), isShared: true)
    }

    /// Accepts an older state of a shared store. No server may run.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid`, `busy` or `storeUnusable`.
    package func acceptRollback(of store: any KeyRecordOperations) async throws {
        try makeSecretsFolder()
        let state = try await store.state()
        if let reason = state.retiredBecause { throw KeyServiceServerError(retired: reason) }
        try await store.acceptRollback(
            generation: HighWaterMark.next(highWaterMarkPath, after: state), now: Int64(Date().timeIntervalSince1970))
        try await HighWaterMark.replace(highWaterMarkPath, by: store.state())
    }
}
