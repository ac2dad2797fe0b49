internal import KeyServiceAudit
internal import KeyServiceCore

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
            try await audit.recording(kind, keyID: keyID, Settings(self)) { try await body(store) }
        }
    }
}
