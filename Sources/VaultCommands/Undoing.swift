internal import VaultBase

/// The changes to undo before the program ends, also if a signal ends it. After `kill -9`, the next run must undo them.
enum Undoing {
    private struct State {
        var actions: [Int: @Sendable () -> Void] = [:]
        var count = 0
    }

    private static let state = Lock(State())

    /// Makes a change, and remembers how to undo it. A signal waits until the change is complete.
    ///
    /// - Parameter undo: undoes the change, also half a change if `change` throws. It must not use `Undoing` itself.
    /// - Returns: a function that undoes the change. Only its first call does something.
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

    /// Undoes everything. Call this right before the process ends.
    static func all() {
        state.withLock { state in
            for action in state.actions.values { action() }
            state.actions = [:]
        }
    }
}
