internal import Foundation
internal import VaultAuth
internal import VaultStorage
internal import VaultUnlock

/// Renews a session's access token before its end, so that programs need not wait for a new one.
enum RefreshAhead {
    /// The time before its end at which a token is renewed. Programs ask for tokens that are valid for a minute.
    static let lead = Duration.seconds(120)
    /// The wait after a failed renewal.
    static let pause = Duration.seconds(30)

    /// Runs until the session is over.
    static func run(_ clock: SteadyClock, _ session: Session) async {
        while !Task.isCancelled {
            guard session.isOpen, session.refusal == nil else { return }
            let wait: Duration
            do {
                wait = try await renewed(session)
            } catch {
                wait = pause
            }
            guard (try? await clock.sleep(clock.now() + wait)) != nil else { return }
        }
    }

    private static func renewed(_ session: Session) async throws -> Duration {
        let token = try await session.accessToken()
        guard let end = token.expiresAt else { return .seconds(240) }
        let now = Date()
        let life = end.timeIntervalSince(token.obtainedAt)
        // For a token with a short life, a quarter of the life is the reserve.
        let lead = min(Self.lead / .seconds(1), max(life / 4, 1))
        let left = end.timeIntervalSince(now) - lead
        guard left > 0 else {
            _ = try await session.accessToken(minimumValidity: .seconds(lead))
            return .seconds(max(min(life / 2, 30), 1))
        }
        return .seconds(min(left, 86_400))
    }
}
