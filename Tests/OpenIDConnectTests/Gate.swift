import VaultBase

/// Holds tasks back until it is opened; stays open.
final class Gate: Sendable {
    private let state = Lock<(isOpen: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}

/// Holds tasks back until this many tasks have come.
final class Crowd: Sendable {
    private let gate = Gate()
    private let missing: Lock<Int>

    init(_ count: Int) {
        missing = Lock(count)
    }

    func come() {
        let isComplete = missing.withLock { missing in
            missing -= 1
            return missing == 0
        }
        if isComplete { gate.open() }
    }

    func wait() async { await gate.wait() }
}
