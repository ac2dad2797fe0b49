internal import ServiceLifecycle
internal import VaultLocks

/// The identity of a running service. An operator may change it while servers run, so each server reads it again once
/// a second.
final class IdentityWatch: Service {
    /// The time between two looks at the store.
    static let interval = Duration.seconds(1)

    private let store: any KeyRecordOperations
    private let masterKeys: MasterKeys
    private let newest: Lock<(stored: StoredIdentity?, key: IdentityKey)>

    /// Reads the identity. Makes one in a store that has none.
    init(_ store: any KeyRecordOperations, _ masterKeys: MasterKeys) async throws {
        self.store = store
        self.masterKeys = masterKeys
        newest = Lock((nil, try await store.makeIdentity(masterKeys)))
    }

    /// The identity, at most a second old while the store can be read.
    var current: IdentityKey { newest.withLock { $0.key } }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                try? await Task.sleep(for: Self.interval)
                await self.look()
            }
        }
    }

    /// Reads the store again. If it cannot be read, the last identity stays: the check of readiness reports the store.
    func look() async {
        guard let stored = try? await store.identity(), newest.withLock({ $0.stored != stored }),
            let key = try? IdentityKey(stored, masterKeys)
        else { return }
        newest.withLock { $0 = (stored, key) }
    }
}
