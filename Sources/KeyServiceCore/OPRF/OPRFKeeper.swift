internal import KeyServiceAPI
package import VaultCrypto

/// The keeper of the keys of the protocol's version 2. It reads and changes keys only through the rules of
/// ``StoredKey``, and each change is durable before its answer.
package struct OPRFKeeper: Sendable {
    /// The refusal of a call, besides those of ``StoredKey/Refusal``.
    package enum Refusal: Error, Hashable {
        /// The blinded element is invalid.
        case invalidElement
        /// The key is unknown, or the request is not authenticated by it. Nobody learns which.
        case unauthorized
        /// The request is authenticated, but the client's clock is off.
        case clock(now: Int64)
    }

    /// The result of an evaluation.
    package struct Evaluation: Sendable {
        package let evaluated: [UInt8]
        package let opened: StoredKey.Guess
        package let guessesRemaining: Int
        package let open: [StoredKey.Guess]
        /// The time when the owner last unlocked the key, in seconds since 1970; nil for never.
        package let ownerUnlockedAt: Int64?
    }

    /// The answer to a request that the key's request key authenticates. The same key authenticates the answer.
    package struct Answered: Sendable {
        package let result: Result<Evaluation, any Error>
        package let requestKey: SharedSecret
    }

    /// A key with the guess that a request opened, or had opened before.
    private struct Opened: Sendable {
        let key: StoredKey
        let opened: StoredKey.Guess
        let limit: Int
    }

    /// The most seconds that a client's clock may be off.
    private static let maxClockError: Int64 = 300

    let masterKeys: MasterKeys
    let commits: GroupCommit
    /// The identity that signs new keys; nil for none, in tests.
    package let identity: IdentityWatch?
    /// Whether a new key ends unless its owner claims it in time.
    package let endsUnclaimedKeys: Bool
    /// The time in seconds since 1970.
    let now: @Sendable () -> Int64
    /// A key that nobody has. Requests for unknown keys are checked with it, so that they take as long as others.
    let decoy: StoredKey

    package init(
        masterKeys: MasterKeys, commits: GroupCommit, endsUnclaimedKeys: Bool = false, identity: IdentityWatch? = nil,
        now: @escaping @Sendable () -> Int64
    ) throws {
        self.masterKeys = masterKeys
        self.commits = commits
        self.identity = identity
        self.endsUnclaimedKeys = endsUnclaimedKeys
        self.now = now
        let publicKey = try SigningKey(seed: SecretBytes.random(count: 32)).publicKey
        let content = try OPRFContent.sealed(
            requestKey: SecretBytes.random(count: OPRFSize.key), key: OPRF.randomKey(), keyID: "",
            masterKeys.current)
        let record = KeyRecord(
            id: "", createdAt: 0, details: .oprf(endKey: publicKey, confirmKey: publicKey),
            masterKeyID: masterKeys.current.id, content: content)
        decoy = StoredKey(record: record, state: .live, guesses: [])
    }

    /// Evaluates one guess.
    ///
    /// - Throws: as ``create(_:deadline:)``, if the request is not authenticated or the service fails.
    package func evaluate(
        id: String, blinded: [UInt8], authorization: OPRFAuthorization, deadline: ContinuousClock.Instant
    ) async throws -> Answered {
        let element = try Self.element(blinded)
        let ticket = OPRFMessage.ticket(id: id, blinded: element.bytes)
        let time = now()
        let (masterKeys, decoy) = (masterKeys, decoy)
        let (requestKey, result) = try await commits.update(id, deadline: deadline) {
            key, limits -> (SharedSecret, Result<Opened, any Error>) in
            guard var known = Self.usable(key, at: time) else {
                _ = try Self.authenticating(authorization, decoy, masterKeys)
                throw Refusal.unauthorized
            }
            guard let requestKey = try Self.authenticating(authorization, known, masterKeys) else {
                throw Refusal.unauthorized
            }
            guard authorization.isRecent(at: time, within: Self.maxClockError) else {
                return (requestKey, .failure(Refusal.clock(now: time)))
            }
            do {
                let opened = try known.evaluate(element.bytes, ticket: ticket, limit: limits.inARow, now: time)
                key = known
                return (requestKey, .success(Opened(key: known, opened: opened, limit: limits.inARow)))
            } catch {
                return (requestKey, .failure(error))
            }
        }
        let found: Opened
        switch result {
        case .success(let opened): found = opened
        case .failure(let error): return Answered(result: .failure(error), requestKey: requestKey)
        }
        let key = found.key
        FaultPoint.charged.strike()
        // If this fails, the guess stays open: another request with the same element may have got its answer. The
        // client may send the element again, and no further guess is counted.
        let evaluated = try OPRF.evaluate(element, key: OPRFContent.key(of: key, masterKeys))
        FaultPoint.evaluated.strike()
        let evaluation = Evaluation(
            evaluated: evaluated.bytes, opened: found.opened,
            guessesRemaining: max(0, found.limit - key.guesses.count), open: key.guesses,
            ownerUnlockedAt: key.ownerUnlockedAt)
        return Answered(result: .success(evaluation), requestKey: requestKey)
    }

    /// Returns the key unless it has version 1, or nobody confirmed it in time.
    static func usable(_ key: StoredKey?, at time: Int64) -> StoredKey? {
        guard let key, key.isOPRF else { return nil }
        let isExpired = key.state == .unfinished && key.record.createdAt < time - StoredKey.unfinishedLifetime
        return isExpired ? nil : key
    }

    /// Returns the key's request key if it authenticates the request.
    private static func authenticating(
        _ authorization: OPRFAuthorization, _ key: StoredKey, _ masterKeys: MasterKeys
    ) throws -> SharedSecret? {
        let requestKey = try SharedSecret(OPRFContent.requestKey(of: key, masterKeys))
        return try RequestMAC.isValid(authorization.code, of: authorization.message, key: requestKey.bytes)
            ? requestKey : nil
    }

    static func element(_ bytes: [UInt8]) throws -> RistrettoElement {
        do { return try RistrettoElement(bytes) } catch { throw Refusal.invalidElement }
    }
}

/// The authentication of a request to evaluate.
package struct OPRFAuthorization: Sendable {
    /// The client's time in seconds since 1970.
    let seconds: Int64
    /// The code of the message, 32 bytes.
    package let code: [UInt8]
    /// The message: see ``OPRFMessage/evaluate(id:seconds:bodyHash:)``.
    let message: [UInt8]

    package init(seconds: Int64, code: [UInt8], message: [UInt8]) {
        self.seconds = seconds
        self.code = code
        self.message = message
    }

    func isRecent(at time: Int64, within limit: Int64) -> Bool {
        let (difference, isHuge) = seconds.subtractingReportingOverflow(time)
        return !isHuge && (-limit...limit).contains(difference)
    }
}
