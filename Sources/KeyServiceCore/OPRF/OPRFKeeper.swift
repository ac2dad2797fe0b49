package import KeyServiceAPI
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
    /// The time after the last guess in which a locked key can still be unlocked, in seconds.
    let destroyAfter: Int64
    /// The identity that signs new keys; nil for none, in tests.
    package let identity: IdentityWatch?
    /// Whether a new key ends unless its owner claims it in time.
    package let endsUnclaimedKeys: Bool
    /// The time in seconds since 1970.
    let now: @Sendable () -> Int64
    /// A key that nobody has. Requests for unknown keys are checked with it, so that they take as long as others.
    private let decoy: StoredKey

    package init(
        masterKeys: MasterKeys, commits: GroupCommit, destroyAfter: Int64, endsUnclaimedKeys: Bool = false,
        identity: IdentityWatch? = nil,
        now: @escaping @Sendable () -> Int64
    ) throws {
        self.masterKeys = masterKeys
        self.commits = commits
        self.destroyAfter = destroyAfter
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

    // MARK: - The calls

    /// Makes a key with its first guess.
    ///
    /// - Parameter deadline: after this time nobody waits for the answer.
    /// - Throws: ``Refusal``, ``StoredKey/Refusal`` or ``KeyServiceServerError``.
    package func create(
        _ request: CreateOPRFKeyRequest, deadline: ContinuousClock.Instant
    ) async throws -> CreatedOPRFKey {
        let element = try Self.element(request.blinded.bytes)
        let function = try OPRF.randomKey()
        let time = now()
        let requestKey = try SharedSecret(SecretBytes(copying: request.requestKey.bytes))
        let record = KeyRecord(
            id: request.id, createdAt: time, details: .oprf(endKey: request.endKey.bytes, confirmKey: nil),
            masterKeyID: masterKeys.current.id,
            content: try OPRFContent.sealed(
                requestKey: requestKey.bytes, key: function, keyID: request.id, masterKeys.current))
        let first = StoredKey.Guess(
            ticket: OPRFMessage.ticket(id: request.id, blinded: element.bytes), blinded: element.bytes,
            openedAt: time)
        let new = StoredKey(
            record: record, state: .unfinished, guesses: [first],
            owner: endsUnclaimedKeys ? StoredKey.nobodyYet : nil, label: request.label?.bytes)
        let masterKeys = masterKeys
        let made = try await commits.update(request.id, .add, deadline: deadline) { key, _ in
            guard let known = key else {
                key = new
                return new
            }
            // The answer to the first request was lost.
            guard known.isOPRF, known.state == .unfinished, known.endKey == new.endKey, known.label == new.label,
                known.guesses.first?.blinded == first.blinded,
                try OPRFContent.requestKey(of: known, masterKeys).isEqual(to: requestKey.bytes)
            else { throw StoredKey.Refusal.exists }
            return known
        }
        guard let opened = made.guesses.first else { throw StoredKey.Refusal.exists }
        let answer = CreatedOPRFKey(
            evaluated: try OPRF.evaluate(element, key: OPRFContent.key(of: made, masterKeys)).bytes,
            ticket: opened.ticket, claimWithin: endsUnclaimedKeys ? StoredKey.unclaimedLifetime : nil)
        return identity?.current.signed(answer, id: request.id, blinded: element.bytes) ?? answer
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
        let (masterKeys, decoy, destroyAfter) = (masterKeys, decoy, destroyAfter)
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
            // A refused guess may destroy the key.
            defer { key = known }
            do {
                let opened = try known.evaluate(
                    element.bytes, ticket: ticket, limit: limits.inARow, now: time, destroyAfter: destroyAfter)
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
            guessesRemaining: max(0, found.limit - key.guesses.count), open: key.guesses)
        return Answered(result: .success(evaluation), requestKey: requestKey)
    }

    /// Takes guesses back whose secret was right. The first time, it also makes the key live.
    ///
    /// - Throws: as ``create(_:deadline:)``.
    package func confirm(id: String, _ request: ConfirmRequest, deadline: ContinuousClock.Instant) async throws {
        let tickets = request.tickets.map(\.bytes)
        let message = OPRFMessage.confirm(id: id, tickets: tickets)
        let key = try await find(id, deadline: deadline)
        // Signatures take long, so they are checked outside of the store's transaction.
        let confirmKey: [UInt8]
        if let known = key?.confirmKey {
            confirmKey = known
        } else if let key, let new = request.confirmKey?.bytes, let endSignature = request.endSignature?.bytes,
            Signature.isValid(endSignature, of: OPRFMessage.install(id: id, confirmKey: new), by: key.endKey)
        {
            confirmKey = new
        } else {
            confirmKey = decoy.endKey
        }
        guard Signature.isValid(request.signature.bytes, of: message, by: confirmKey), key != nil else {
            throw Refusal.unauthorized
        }
        if let other = request.confirmKey?.bytes, other != confirmKey { throw StoredKey.Refusal.conflict }
        let time = now()
        try await commits.update(id, deadline: deadline) { key, _ in
            guard var known = key, known.isOPRF else { throw Refusal.unauthorized }
            try known.confirm(tickets, confirmKey: confirmKey, now: time)
            key = known
        }
        FaultPoint.settled.strike()
    }

    /// Ends a key for good.
    ///
    /// - Throws: as ``create(_:deadline:)``. A key that is gone already is no error.
    package func end(id: String, signature: [UInt8], deadline: ContinuousClock.Instant) async throws {
        let key = try await find(id, deadline: deadline)
        let isValid = Signature.isValid(signature, of: OPRFMessage.end(id: id), by: (key ?? decoy).endKey)
        guard isValid, key != nil else { throw Refusal.unauthorized }
        try await commits.update(id, deadline: deadline) { key, _ in
            // Nothing is left of a key that was never confirmed.
            if key?.state == .unfinished { key = nil } else { key?.end(.ended) }
        }
    }

    /// Gives a live key an owner. A key keeps its first owner.
    ///
    /// - Parameters:
    ///   - signature: the end key's signature for this person.
    ///   - person: the owner, as the access token shows.
    ///   - owner: the form of the owner that is stored.
    /// - Throws: as ``create(_:deadline:)``.
    func claim(
        id: String, signature: [UInt8], for person: KeyOwner, owner: [UInt8], deadline: ContinuousClock.Instant
    ) async throws {
        let key = try await find(id, deadline: deadline)
        let message = OPRFMessage.claim(id: id, issuer: person.issuer, subject: person.subject)
        guard Signature.isValid(signature, of: message, by: (key ?? decoy).endKey), key != nil else {
            throw Refusal.unauthorized
        }
        try await commits.update(id, deadline: deadline) { key, _ in
            guard var known = key, known.isOPRF else { throw Refusal.unauthorized }
            try known.claim(for: owner)
            key = known
        }
    }

    /// Changes a key of an owner.
    ///
    /// - Throws: ``DeviceKeeper/Refusal`` if the owner has no such key, also if it is gone already.
    func change(
        id: String, of owner: [UInt8], deadline: ContinuousClock.Instant,
        _ change: @escaping @Sendable (inout StoredKey) -> Void
    ) async throws {
        try await commits.update(id, deadline: deadline) { key, _ in
            guard var known = key, known.owner == owner, known.state == .live else {
                throw DeviceKeeper.Refusal.noSuchDevice
            }
            change(&known)
            key = known
        }
    }

    // MARK: - The parts

    /// Reads a key; nil if there is none.
    private func find(_ id: String, deadline: ContinuousClock.Instant) async throws -> StoredKey? {
        let time = now()
        return try await commits.update(id, .read, deadline: deadline) { key, _ in Self.usable(key, at: time) }
    }

    /// Returns the key unless it has version 1, or nobody confirmed it in time.
    private static func usable(_ key: StoredKey?, at time: Int64) -> StoredKey? {
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

    private static func element(_ bytes: [UInt8]) throws -> RistrettoElement {
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
