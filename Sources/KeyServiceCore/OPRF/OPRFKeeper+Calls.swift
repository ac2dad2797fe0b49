package import KeyServiceAPI
internal import VaultBase
internal import VaultCrypto

// The calls about the life of a key: how it begins, takes guesses back, gets an owner, and ends.
extension OPRFKeeper {
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
    /// - Returns: the result of `change`.
    /// - Throws: ``DeviceKeeper/Refusal`` if the owner has no such key, also if it is gone already. The errors of
    ///   `change`, which then changes nothing.
    func change<R: Sendable>(
        id: String, of owner: [UInt8], deadline: ContinuousClock.Instant,
        _ change: @escaping @Sendable (inout StoredKey, GuessLimits) throws -> R
    ) async throws -> R {
        try await commits.update(id, deadline: deadline) { key, limits in
            guard var known = key, known.owner == owner, known.state == .live else {
                throw DeviceKeeper.Refusal.noSuchDevice
            }
            let result = try change(&known, limits)
            key = known
            return result
        }
    }

    /// Reads a key; nil if there is none.
    private func find(_ id: String, deadline: ContinuousClock.Instant) async throws -> StoredKey? {
        let time = now()
        return try await commits.update(id, .read, deadline: deadline) { key, _ in Self.usable(key, at: time) }
    }
}
