internal import Foundation
internal import KeyService
internal import VaultCrypto
internal import VaultHTTP

/// Makes and opens keyslots of protocol version 2. The stretched secret is the input of the oblivious function, and the
/// function's result gives the slot key.
struct ObliviousKeyslot: Sendable {
    let account: Account
    let store: any SecureStore
    let client: ObliviousClient
    let newClaims: NewClaims
    /// Waits for a try that was sent.
    let stopGuard: StopGuard
    /// The identity keys that a new key may come from. Opening needs none.
    var trusted = TrustedIdentities()
    /// The claim that a new key needs; nil if an unclaimed key stays.
    var claim: RequiredClaim?
    /// The account's present vault key, if the new keyslot gets another one.
    var presentVaultKey: VaultKey?

    private var tries: OwnTries { OwnTries(store: store, account: account.id) }

    /// The values that a new keyslot is made from.
    struct Draft: Sendable {
        let kind: Keyslot.Kind
        var id = UUID().uuidString.lowercased()
        var keyID = UUID().uuidString.lowercased()
        let stretched: SharedSecret
        var salt: [UInt8] = []
        var argon2 = Argon2Parameters(passes: 0, memoryKiB: 0, lanes: 0)
        /// Returns the data beside the wrapped key. It holds the identity key of the key service.
        var protection: @Sendable (_ serviceKey: [UInt8]?) throws -> [UInt8] = { $0 ?? [] }
        var label: String?
        let createdAt: Date
    }

    /// Makes the key at the service, and seals the vault key. Stores no keyslot yet. The key is on the list of keys to
    /// end until its keyslot is stored.
    func make(_ draft: Draft, vaultKey: VaultKey) async throws -> Keyslot {
        let id = draft.keyID
        let endKey = try vaultKey.endKey(of: id)
        // Before a key is made that could not be claimed.
        let token = try await claim?.token(vaultKey)
        let end = endKey.end(of: id)
        // A disk that a thief has must not end the key of a recovery code or of hardware.
        let stored = draft.kind.isGuessable ? end : try await vaultKey.seal(end, as: .keyEnd(id), of: account.id)
        let blinding = try ObliviousFunction.blind(draft.stretched.bytes)
        let requestKey = SharedSecret(try requestKey(draft.kind, draft.stretched, id: id))
        let signature = endKey.claim(of: id, issuer: account.id.issuer, subject: account.id.subject)
        newClaims.add(signature, of: id)
        let label = try await DeviceLabel(
            shortening: DeviceRecord(store: store, account: account.id).name(), draft.kind
        ).sealed(id, tag: DeviceLabel.tag(of: account), of: account.id, vaultKey)
        try await list(id, draft.kind, end, sealed: stored, vaultKey)
        FaultPoint.keyNoted.reach()
        do {
            let new = NewObliviousKey(
                id: id, requestKey: requestKey, endKey: endKey.publicKey, blinded: blinding.element, label: label)
            let evaluation = try await client.createKey(new)
            FaultPoint.keyCreated.reach()
            // Somebody in the network may have answered with a key of their own, to guess with it later.
            let protection = try draft.protection(trusted.check(evaluation, of: new))
            guard evaluation.claimWithin == nil || claim != nil else { throw VaultError.claimTimeWasHidden }
            let output = try finalize(draft.stretched, blinding, evaluation.element)
            let confirmKey = try ObliviousKeys.confirmKey(output, id: id)
            let slotKey = try ObliviousKeys.slotKey(
                output, slotID: draft.id, salt: salt(protection: protection))
            let wrapped = try vaultKey.wrapped(
                under: slotKey, draft.kind, of: account.id, slotID: draft.id, keyID: id, version: 2)
            let confirmation = confirmKey.firstConfirmation(of: id, ticket: evaluation.ticket, endKey: endKey)
            try await client.confirm(confirmation)
            FaultPoint.keyConfirmed.reach()
            // An empty signature says that the service has the claim.
            if try await claim?.send(signature, of: id, with: token) == true { newClaims.add([], of: id) }
            // With a question from the start, a proof that this device was not revoked costs no guess.
            let question =
                draft.kind.isGuessable
                ? try? LaterQuestion(about: id, confirmKey, judgesTries: false, now: client.clock.now) : nil
            try? await tries.noteSent(confirmation, question: question)
            return Keyslot(
                id: draft.id, kind: draft.kind, salt: draft.salt, argon2: draft.argon2, keyID: id, wrapped: wrapped,
                createdAt: draft.createdAt, label: draft.label, protection: protection,
                check: confirmKey.publicKey, endSignature: stored)
        } catch {
            // In a new task: the store does nothing for a cancelled task. The next program that ends keys ends this one.
            let key = RetiredKey(id: id, of: account, stored)
            _ = newClaims.take([id])
            await Task { try? await RetiredKeys(store: store).add([key]) }.value
            throw error
        }
    }

    /// Puts a new key on the list of keys to end, until its keyslot is stored.
    ///
    /// A sealed signature must open with the account's present vault key, because nobody has the new one if the program
    /// dies now. So this fails if another program has replaced the vault key.
    private func list(
        _ id: String, _ kind: Keyslot.Kind, _ end: [UInt8], sealed: [UInt8], _ vaultKey: VaultKey
    ) async throws {
        var listed = RetiredKey(id: id, of: account, sealed)
        listed.madeAt = client.clock.now
        guard !kind.isGuessable else { return try await RetiredKeys(store: store).add([listed]) }
        let present = presentVaultKey ?? vaultKey
        if presentVaultKey != nil {
            listed.sealedEndSignature = try await present.seal(end, as: .keyEnd(id), of: account.id)
        }
        try await store.apply([RetiredKeys.adding([listed])], to: account.id, sealedUnder: present)
    }

    /// Opens a keyslot with one try, and stores the confirmation of this try. From the moment when the try is sent, a
    /// cancelled caller waits until the confirmation is stored: otherwise four cancelled logins would lock the key.
    ///
    /// - Parameters:
    ///   - hasTurn: whether no other program evaluates a try of this account meanwhile.
    ///   - spendsLastGuess: whether to send a try that locks the key if its answer is lost, too.
    /// - Throws: `KeyServiceError`. ``VaultError`` with code `lastGuess` or `busy`. ``StoreError`` with code `corrupt` if
    ///   the secret is right but the stored slot does not open. Any other one if the try cannot be noted.
    func open(
        _ slot: Keyslot, stretched: SharedSecret, hasTurn: Bool, spendsLastGuess: Bool
    ) async throws -> OpenedKeyslot {
        guard slot.check.count == Signature.publicKeySize else { throw Self.damaged(nil) }
        let key = slot.keyID
        let requestKey = SharedSecret(try requestKey(slot.kind, stretched, id: key))
        // Read before the try: a parallel login may confirm own tries and forget them during the call.
        let before = try? await tries.tickets(at: key, check: slot.check)
        let unfinished = try await tries.unfinished(at: key)
        var repeated: Evaluation?
        if let last = unfinished.tries.last, let element = try? RistrettoElement(last.element) {
            // Perhaps answers are lost now. Each lost one would count as a guess, until the key locks. The service counts
            // the same element once, and this answer is as long as the next one. A short answer would show less: some
            // networks lose only long ones, and some gateways remove the header that authenticates an evaluation.
            repeated = try await client.evaluate(key, element, requestKey: requestKey)
        }
        if unfinished.isLastGuess(after: repeated, confirmed: before?.confirmed ?? []) {
            // Another program could spend it at the same time.
            guard hasTurn else {
                throw VaultError(.busy, "Another login to the account has not finished. End it, or try again.")
            }
            guard !unfinished.hasLostAnswers || spendsLastGuess else { throw VaultError.lastGuess(slot.kind) }
        }
        try Task.checkCancellation()
        return try await stopGuard.finishing { isStopping in
            var client = client
            client.isCancelled = isStopping
            return try await evaluate(slot, stretched, requestKey, before: before, client)
        }
    }

    /// Sends a try, and stores its confirmation if the secret was right.
    ///
    /// - Parameter before: the tries of this store before this one.
    private func evaluate(
        _ slot: Keyslot, _ stretched: SharedSecret, _ requestKey: SharedSecret, before: OwnTries.Tickets?,
        _ client: ObliviousClient
    ) async throws -> OpenedKeyslot {
        let key = slot.keyID
        let blinding = try ObliviousFunction.blind(stretched.bytes)
        let element = blinding.element
        // On the disk before the try is sent: if the answer is lost, or this program dies, the next login sends this
        // element again and closes it.
        try await tries.note(element, at: key)
        let answer: Evaluation
        do {
            answer = try await client.evaluate(key, element, requestKey: requestKey)
        } catch let error as KeyServiceError where error.wasNotCounted {
            // Sent again by the next login, it would count as a guess of its own.
            try? await tries.forget(element, at: key)
            throw error
        }
        FaultPoint.tryEvaluated.reach()
        var opened: OpenedKeyslot
        do {
            opened = try await self.opened(slot, stretched, blinding, answer, before: before)
        } catch {
            try? await tries.noteAnswer(to: element, at: key, limit: answer.limit)
            throw error
        }
        if let confirmation = opened.confirmation {
            let change = tries.storing(
                confirmation, keeping: account.keyslots, limit: answer.limit, question: opened.laterQuestion)
            opened.isConfirmationStored = (try? await store.apply([change], to: account.id)) != nil
        }
        return opened
    }

    /// Opens the slot with the answer to a try, and signs the confirmation.
    private func opened(
        _ slot: Keyslot, _ stretched: SharedSecret, _ blinding: borrowing ObliviousFunction.Blinding,
        _ answer: Evaluation, before: OwnTries.Tickets?
    ) async throws -> OpenedKeyslot {
        let key = slot.keyID
        let output = try finalize(stretched, blinding, answer.element)
        let confirmKey = try ObliviousKeys.confirmKey(output, id: key)
        guard try SecretBytes(copying: confirmKey.publicKey).isEqual(to: SecretBytes(copying: slot.check)) else {
            // Nothing that was made from the output leaves: the service may not be the right one.
            throw KeyServiceError(
                .wrongSecret, "The secret is wrong.", guessesRemaining: answer.guessesRemaining)
        }
        let vaultKey: VaultKey
        do {
            let slotKey = try ObliviousKeys.slotKey(
                output, slotID: slot.id, salt: salt(protection: slot.protection))
            vaultKey = try slot.vaultKey(under: slotKey, of: account.id)
        } catch let error as VaultCryptoError where error.code != .outOfMemory {
            throw Self.damaged(error)
        }
        let now = try? await tries.tickets(at: key, check: slot.check)
        func isOwn(_ ticket: [UInt8]) -> Bool { before?.contains(ticket) == true || now?.contains(ticket) == true }
        let others = answer.others { isOwn($0) }
        // A confirmation can be sent again for ever, and nothing authenticates the note of own tries: somebody could write
        // elements there, and guess with them later, for free. So it names no more own tries than the key allows
        // guesses: the open ones first, then the newest ones, which may never have arrived. After them come tries of
        // earlier confirmations, which this key signed: somebody may send a recorded one again.
        let own = (now?.unconfirmed ?? []) + (before?.unconfirmed ?? [])
        let named = answer.open.map(\.ticket).filter(own.contains) + own
        var tickets = [answer.ticket]
        func add(_ more: [[UInt8]], upTo count: Int) {
            for ticket in more where tickets.count < count && !tickets.contains(ticket) { tickets.append(ticket) }
        }
        add(named, upTo: max(1, answer.limit))
        add(answer.open.map(\.ticket).filter { now?.confirmed.contains($0) == true }, upTo: ObliviousKeys.maxTickets)
        add(Array(now?.confirmed.prefix(OwnTries.repeatedTickets) ?? []), upTo: ObliviousKeys.maxTickets)
        var opened = OpenedKeyslot(
            vaultKey: vaultKey, confirmation: confirmKey.confirmation(of: key, tickets: tickets),
            triesElsewhere: others.filter(\.isOld).map(\.date).sorted())
        opened.serviceTime = answer.open.first { $0.ticket == answer.ticket }?.date
        if slot.kind.isGuessable {
            opened.laterQuestion = try? LaterQuestion(
                about: key, confirmKey, judgesTries: others.contains { !$0.isOld }, now: client.clock.now)
        }
        return opened
    }

    func requestKey(_ kind: Keyslot.Kind, _ stretched: SharedSecret, id: String) throws -> SecretBytes {
        guard kind.isGuessable else { return try ObliviousKeys.requestKey(from: stretched.bytes, id: id) }
        return try ObliviousKeys.requestKey(from: SecretBytes(copying: account.deviceSecret), id: id)
    }

    private func finalize(
        _ input: SharedSecret, _ blinding: borrowing ObliviousFunction.Blinding, _ evaluated: RistrettoElement
    ) throws -> SecretBytes {
        do {
            return try ObliviousFunction.finalize(input.bytes, blinding, evaluated: evaluated)
        } catch let error as VaultCryptoError where error.code == .invalidInput {
            throw KeyServiceError(
                .invalidAnswer, "The key service answered with an impossible element.", underlying: error)
        }
    }

    /// Nobody can change the data beside the wrapped key unnoticed, nor the address of the key service: a thief who could
    /// write the disk would otherwise get the next new key, and the next access token.
    private func salt(protection: [UInt8]) -> [UInt8] {
        Checksum.of([Array(account.keyServiceURL.utf8), protection])
    }

    private static func damaged(_ error: (any Error)?) -> StoreError {
        StoreError(
            .corrupt,
            "The secret is right, but the stored keyslot or the address of its key service was changed. Use another way in, or restore the store from a backup.",
            underlying: error)
    }
}

extension Evaluation {
    /// The number of open tries that locks the key.
    var limit: Int { guessesRemaining + open.count }

    /// Returns the open tries that nobody made here. A young one may be a login that runs now.
    func others(isOwn: (_ ticket: [UInt8]) -> Bool) -> [(date: Date, isOld: Bool)] {
        guard let mine = open.first(where: { $0.ticket == ticket }) else { return [] }
        return open.filter { $0.ticket != mine.ticket && !isOwn($0.ticket) }
            .map { ($0.date, $0.date < mine.date - LaterQuestion.leastAge) }
    }
}

extension KeyServiceError {
    /// Whether the service certainly did not count the try: it never left, or the service itself refused it.
    fileprivate var wasNotCounted: Bool {
        switch code {
        case .unavailable: !mayHaveCounted
        // These refusals are authenticated.
        case .clock, .keyLocked, .unfinished, .keyEnded, .keyRevoked, .keyDestroyed: true
        default: false
        }
    }
}
