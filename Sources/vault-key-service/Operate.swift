internal import KeyServiceServer

extension CommonOptions {
    /// Runs an operator's command on the store, also while servers use it.
    func operate(_ body: (any KeyRecordOperations) async throws -> Void) async throws {
        try await Failure.reporting {
            let store = try await Settings(self).openStore(self)
            defer { store.close() }
            try await body(store)
        }
    }
}
