internal import OpenIDConnect
internal import VaultBase

/// The browser of one sign-in. If it fails or is closed while its redirect is being redeemed, the redirect counts.
final class OpenedBrowser: Sendable {
    private struct State {
        var isRedeeming = false
        var failure: (any Error)?
    }

    private let state = Lock(State())

    /// Notes that the browser failed, or that the person closed it.
    ///
    /// - Returns: whether the sign-in ends now. Otherwise its redirect has come already.
    func endsSignIn(after failure: any Error) -> Bool {
        state.withLock { state in
            state.failure = failure
            return !state.isRedeeming
        }
    }

    /// Redeems a redirect.
    ///
    /// - Throws: the error of `body`. For the redirect of another sign-in, the failure of the browser, if there was one:
    ///   nothing is left to wait for.
    func redeem<R: Sendable>(_ body: () async throws -> R) async throws -> R {
        state.withLock { $0.isRedeeming = true }
        do {
            return try await body()
        } catch {
            let failure = state.withLock { state in
                state.isRedeeming = false
                return state.failure
            }
            if let failure, (error as? OpenIDConnectError)?.code == .stateMismatch { throw failure }
            throw error
        }
    }
}
