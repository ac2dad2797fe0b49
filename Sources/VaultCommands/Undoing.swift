internal import VaultLocks

/// What has to be put back before the program ends, also when a signal ends it. What `kill -9` leaves behind, the next
/// run has to find.
enum Undoing {
    private struct State {
        var actions: [Int: @Sendable () -> Void] = [:]
        var count = 0
    }

    private static let state = Lock(State())

    /// Changes something, and notes how to put it back. A signal that comes meanwhile waits for the change to be whole.
    ///
    /// - Parameter undo: also puts back half a change, when `change` throws. It must not use `Undoing` itself.
    /// - Returns: what puts it back, once, however often it is called.
    static func after(_ change: () throws -> Void, _ undo: @escaping @Sendable () -> Void) throws
        -> @Sendable () -> Void
    {
        let number = try state.withLock { state in
            do { try change() } catch {
                undo()
                throw error
            }
            state.count += 1
            state.actions[state.count] = undo
            return state.count
        }
        return { state.withLock { $0.actions.removeValue(forKey: number)?() } }
    }

    /// Puts back everything. To be called right before the process ends.
    static func all() {
        state.withLock { state in
            for action in state.actions.values { action() }
            state.actions = [:]
        }
    }
}
