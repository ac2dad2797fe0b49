internal import VaultLocks

/// What this process knows of keyslots beside what is stored: an app may go on with an ``Account`` that it read before.
final class KeyslotHistory: Sendable {
    private struct State {
        /// The id of the keyslot that took the place of another one, with the same secret.
        var renewed: [String: String] = [:]
        /// The ids of keys that were given up before a keyslot of theirs was stored.
        var spent: Set<String> = []
    }

    private let state = Lock(State())

    func note(_ id: String, renewedAs new: String) {
        state.withLock { $0.renewed[id] = new }
    }

    /// The id of the keyslot that stands for this one now.
    func current(_ id: String) -> String {
        state.withLock { state in
            var id = id
            while let new = state.renewed[id] { id = new }
            return id
        }
    }

    func spend(_ keyID: String) {
        state.withLock { _ = $0.spent.insert(keyID) }
    }

    func isSpent(_ keyID: String) -> Bool {
        state.withLock { $0.spent.contains(keyID) }
    }
}
