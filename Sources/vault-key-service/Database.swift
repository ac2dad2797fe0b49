internal import KeyServiceAudit
internal import KeyServiceCore
internal import KeyServiceSQLite
internal import Logging

#if PostgreSQL
    internal import KeyServicePostgreSQL
#endif

/// What a command does with the tables of a shared database.
enum DatabasePurpose {
    case create, serve, operate
}

extension Settings {
    /// Opens the data folder, or the database of `--database-url`, for a server.
    func openToServe(
        _ common: CommonOptions, allowAsynchronousStandby: Bool, _ logger: Logger, observer: any KeyServiceObserver
    ) async throws -> OpenedStore {
        let isAllowed = try flag(allowAsynchronousStandby, "allowAsynchronousStandby")
        let store = try await sharedStore(
            common, for: .serve, allowAsynchronousStandby: isAllowed, observer: observer
        ) {
            logger.warning("\($0)")
        }
        return if let store { try await folder().open(store) } else { try await folder().open() }
    }

    /// Opens the store for an operator. A store whose keys were moved, or are being moved, can only be read.
    fileprivate func openStore(_ common: CommonOptions, toRead: Bool) async throws -> any KeyRecordOperations {
        guard let store = try await sharedStore(common, for: .operate) else {
            return try folder().openStore(toRead: toRead)
        }
        if !toRead, let reason = try await store.state().retiredBecause { throw KeyServiceServerError(retired: reason) }
        return store
    }

    /// The place of the keys, for the log.
    func storeName(_ common: CommonOptions) -> String {
        string(common.databaseUrl, "databaseUrl") ?? string(common.data, "data") ?? ""
    }

    /// Refuses a command that only SQLite needs.
    func refuseSharedStore(_ common: CommonOptions, _ advice: String) throws {
        guard names(common.databaseUrl, "databaseUrl") else { return }
        throw Failure.configuration("The keys are in PostgreSQL, which this command cannot copy. \(advice)")
    }

    /// Opens the database of `--database-url`; nil without that option.
    func sharedStore(
        _ common: CommonOptions, for purpose: DatabasePurpose, allowAsynchronousStandby: Bool = true,
        observer: (any KeyServiceObserver)? = nil, warn: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws -> (any KeyRecordOperations)? {
        guard let url = string(common.databaseUrl, "databaseUrl") else { return nil }
        #if PostgreSQL
            let purposes: [DatabasePurpose: PostgreSQLKeyRecordStore.Purpose] = [.create: .create, .serve: .serve]
            return try await PostgreSQLKeyRecordStore.open(
                url: url, purpose: purposes[purpose] ?? .operate,
                allowAsynchronousStandby: allowAsynchronousStandby, observer: observer, warn: warn)
        #else
            throw Failure.configuration(
                "This program was built without PostgreSQL. Build it again: swift build --traits PostgreSQL")
        #endif
    }
}

extension CommonOptions {
    /// Runs an operator's command on the store, also while servers use it.
    func operate(
        toRead: Bool = false, _ body: (any KeyRecordOperations) async throws -> Void
    ) async throws {
        try await Failure.reporting {
            let store = try await Settings(self).openStore(self, toRead: toRead)
            defer { store.close() }
            try await body(store)
        }
    }

    /// Runs a command that has a line in the audit log.
    func operate(
        _ kind: AuditEvent.Kind, keyID: String? = nil, _ audit: AuditOptions,
        _ body: (any KeyRecordOperations) async throws -> Void
    ) async throws {
        try await operate { store in
            try await audit.recording(kind, in: store.auditLogs(), keyID: keyID, Settings(self)) {
                try await body(store)
            }
        }
    }
}
