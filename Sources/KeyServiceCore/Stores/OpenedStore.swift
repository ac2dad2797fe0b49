/// A store with everything that a server needs to use it.
package struct OpenedStore: Sendable {
    package let store: any KeyRecordOperations
    /// The master keys of its records.
    package let masterKeys: MasterKeys
    /// The proof that the store did not go back in time; nil for none, in tests.
    package let mark: HighWaterMark?

    /// Checks that a store may be served.
    ///
    /// - Parameter isShared: whether other instances may use the store.
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if a master key is missing or the store is
    ///   retired, or `rolledBack`.
    package init(
        _ store: any KeyRecordOperations, masterKeys: MasterKeys, mark: HighWaterMark? = nil, isShared: Bool = false
    ) async throws {
        let state = try await store.state()
        if let reason = state.retiredBecause { throw KeyServiceServerError(retired: reason) }
        try await mark?.check(state, isShared: isShared)
        try await masterKeys.match(store)
        self.store = store
        self.masterKeys = masterKeys
        self.mark = mark
    }
}
