internal import VaultBase

/// The proofs that were used a short time ago, so that no proof works twice. There are two generations. The older
/// generation is forgotten when the younger one is so old that none of the older proofs is accepted any more.
package final class UsedProofs: Sendable {
    /// The most proofs of a generation. Each belongs to a valid access token.
    private static let maxCount = 100_000

    /// The most proofs of one person in a generation. So nobody can use up the memory for all.
    private static let maxCountOfPerson = 1000

    private struct State {
        var young: Set<String> = []
        /// The number of proofs of each person in the younger generation.
        var counts: [KeyOwner: Int] = [:]
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
    ///   - person: the owner of the access token.
    ///   - now: the present time. Nobody can set this clock back.
    /// - Throws: ``OwnerVerificationError``: `invalidProof` if it was used before, `unavailable` if there are too many.
    package func use(_ proof: String, by person: KeyOwner, at now: ContinuousClock.Instant)
        throws(OwnerVerificationError)
    {
        let refusal = state.withLock { state -> OwnerVerificationError? in
            let age = state.began.map { $0.duration(to: now) } ?? .zero
            if state.began == nil || age >= lifetime {
                state.old = age >= lifetime + lifetime ? [] : state.young
                (state.young, state.counts) = ([], [:])
                state.began = now
            }
            guard !state.young.contains(proof), !state.old.contains(proof) else { return .invalidProof }
            let count = state.counts[person, default: 0]
            guard state.young.count < Self.maxCount, count < Self.maxCountOfPerson else { return .unavailable }
            state.young.insert(proof)
            state.counts[person] = count + 1
            return nil
        }
        if let refusal { throw refusal }
    }
}
