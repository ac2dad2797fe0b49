internal import VaultBase

/// The proofs that were used a short time ago, so that no proof works twice. There are two generations. The older
/// generation is forgotten when the younger one is so old that none of the older proofs is accepted any more.
package final class UsedProofs: Sendable {
    /// The most proofs of a generation. Each belongs to a valid access token.
    private static let maxCount = 100_000

    private struct State {
        var young: Set<String> = []
        var old: Set<String> = []
        /// The time when the younger generation began; nil before the first proof.
        var began: ContinuousClock.Instant?
    }

    private let lifetime: Duration
    private let state = Lock(State())

    /// - Parameter lifetime: the longest time in which a proof is accepted.
    package init(lifetime: Duration) { self.lifetime = lifetime }

    /// Notes a proof.
    ///
    /// - Parameters:
    ///   - proof: the key and the identifier of the proof.
    ///   - now: the present time. Nobody can set this clock back.
    /// - Throws: ``OwnerVerificationError``: `invalidProof` if it was used before, `unavailable` if there are too many.
    package func use(_ proof: String, at now: ContinuousClock.Instant) throws(OwnerVerificationError) {
        let refusal = state.withLock { state -> OwnerVerificationError? in
            let age = state.began.map { $0.duration(to: now) } ?? .zero
            if state.began == nil || age >= lifetime {
                state.old = age >= lifetime + lifetime ? [] : state.young
                state.young = []
                state.began = now
            }
            guard !state.young.contains(proof), !state.old.contains(proof) else { return .invalidProof }
            guard state.young.count < Self.maxCount else { return .unavailable }
            state.young.insert(proof)
            return nil
        }
        if let refusal { throw refusal }
    }
}
