internal import VaultBase
internal import VaultStorage

/// The renewals of keyslots that wait for an access token. If the key service ends unclaimed keys, a new key must be
/// claimed before its keyslot replaces the old one. The login that asks for the renewal gets its token only later.
///
/// A renewal holds the typed secret. So it waits only for a minute, and not beyond the end of its session. The next
/// login tries again.
final class WaitingRenewals: Sendable {
    /// The time that a renewal waits.
    private static let timeout = Duration.seconds(60)

    private struct Waiting {
        let number: Int
        let run: @Sendable (AccessToken) async -> Void
    }

    private struct State {
        var last = 0
        var waiting: [AccountID: Waiting] = [:]
    }

    private let state = Lock(State())

    /// Keeps a renewal until an access token of its account is at hand. It takes the place of an older one.
    func add(
        _ id: AccountID, _ timer: any Clock<Duration>, _ run: @escaping @Sendable (AccessToken) async -> Void
    ) {
        let number = state.withLock { state in
            state.last += 1
            state.waiting[id] = Waiting(number: state.last, run: run)
            return state.last
        }
        Task {
            try? await timer.sleep(for: Self.timeout)
            state.withLock { state in
                if state.waiting[id]?.number == number { state.waiting[id] = nil }
            }
        }
    }

    func run(_ id: AccountID, with token: AccessToken) async {
        await state.withLock { $0.waiting.removeValue(forKey: id) }?.run(token)
    }

    /// The number of the last renewal that had to wait.
    var last: Int { state.withLock { $0.last } }

    /// Forgets the renewal of an account, unless a later login asked for it.
    func forget(_ id: AccountID, upTo last: Int) {
        state.withLock { state in
            if let waiting = state.waiting[id], waiting.number <= last { state.waiting[id] = nil }
        }
    }
}
