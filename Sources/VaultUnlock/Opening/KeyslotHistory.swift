internal import VaultBase
internal import VaultStorage

/// The history of keyslots in this process. An app may still use an ``Account`` that it read before a change.
final class KeyslotHistory: Sendable {
    private struct State {
        /// The id of the keyslot that replaced another one with the same secret.
        var renewed: [String: String] = [:]
        /// The ids of keys that were discarded before their keyslot was stored.
        var spent: Set<String> = []
        /// The ids of keyslots that a login removed.
        var removed: Set<String> = []
        /// The times, by ``SteadyClock``, when keys of the key service last opened accounts.
        var proofs: [AccountID: Duration] = [:]
    }

    private let state = Lock(State())

    func note(_ id: String, renewedAs new: String) {
        state.withLock { $0.renewed[id] = new }
    }

    func current(_ id: String) -> String {
        state.withLock { state in
            var id = id
            while let new = state.renewed[id] { id = new }
            return id
        }
    }

    func noteRemoved(_ id: String) {
        state.withLock { _ = $0.removed.insert(id) }
    }

    func isRemoved(_ id: String) -> Bool {
        state.withLock { $0.removed.contains(id) }
    }

    func spend(_ keyID: String) {
        state.withLock { _ = $0.spent.insert(keyID) }
    }

    func isSpent(_ keyID: String) -> Bool {
        state.withLock { $0.spent.contains(keyID) }
    }

    func noteProof(of account: AccountID, at time: Duration) {
        state.withLock { $0.proofs[account] = time }
    }

    func proof(of account: AccountID) -> Duration? {
        state.withLock { $0.proofs[account] }
    }
}
