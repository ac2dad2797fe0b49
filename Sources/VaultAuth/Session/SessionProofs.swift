/// The times of a session that nobody can set: when a person last gave a secret, and when the key service last proved
/// that the owner did not revoke this device.
package struct SessionProofs: Sendable {
    /// The time for which a secret allows new unlock methods.
    package static let ofSecret = Duration.seconds(300)
    /// The time after a login in which the key service is not asked: it has just answered.
    private static let ofLogin = Duration.seconds(60)
    /// The time for which a silent key service is asked beside the token request, so that nobody waits for it.
    private static let ofSilence = Duration.seconds(600)

    /// The time of the login, by `SteadyClock`.
    private let begin: Duration
    /// The last proof that the device was not revoked. A login is one.
    private var provenAt: Duration
    private var silentAt: Duration?
    private var secretAt: Duration?
    /// Whether the key service is being asked beside a token request.
    var isAsking = false

    /// - Parameters:
    ///   - now: the time of the login.
    ///   - hasSecret: whether a person has just given a secret in this program.
    init(at now: Duration, hasSecret: Bool) {
        begin = now
        provenAt = now
        secretAt = hasSecret ? now : nil
    }

    /// Whether the person gave a secret a short time ago.
    func hasSecret(at now: Duration) -> Bool { secretAt.map { now - $0 < Self.ofSecret } ?? false }

    mutating func noteSecret(at now: Duration) { secretAt = now }

    /// Whether the login is so recent that the key service needs no second question.
    func isFresh(at now: Duration) -> Bool { now - begin < Self.ofLogin }

    /// Whether the last proof is older than the policy allows.
    func isOverdue(at now: Duration, _ limit: Duration) -> Bool { now - provenAt >= limit }

    /// Whether the key service was silent a short time ago.
    func isSilent(at now: Duration) -> Bool { silentAt.map { now - $0 < Self.ofSilence } ?? false }

    mutating func noteProof(at now: Duration) { (provenAt, silentAt) = (now, nil) }

    mutating func noteAnswer() { silentAt = nil }

    mutating func noteSilence(at now: Duration) { silentAt = now }
}
