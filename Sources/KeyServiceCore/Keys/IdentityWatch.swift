internal import VaultBase

/// The identity of a running service. An operator may change it while servers run, so each server looks again
/// once a second.
package final class IdentityWatch: Sendable {
    private let store: any KeyRecordOperations
    private let masterKeys: MasterKeys
    private let newest: Lock<(stored: StoredIdentity?, key: IdentityKey)>

    /// Reads the identity. Makes one in a store that has none.
    package init(_ store: any KeyRecordOperations, _ masterKeys: MasterKeys) async throws {
        self.store = store
        self.masterKeys = masterKeys
        newest = Lock((nil, try await store.makeIdentity(masterKeys)))
    }

    /// The identity, at most a second old while the store can be read.
    package var current: IdentityKey { newest.withLock { $0.key } }

    /// Reads the store again. If it cannot be read, the last identity stays: the check of readiness reports the store.
    package func look() async {
        guard let stored = try? await store.identity(), newest.withLock({ $0.stored != stored }),
            let key = try? IdentityKey(stored, masterKeys)
        else { return }
        newest.withLock { $0 = (stored, key) }
    }
}
