internal import Foundation
internal import KeyServiceClient
internal import VaultBase
internal import VaultCrypto
internal import VaultStorage

// One guess at a key, and what its answer means.
extension OPRFKeys {
    /// Opens a keyslot with one guess, and stores the confirmation of this guess. From the moment when the guess is
    /// sent, a cancelled caller waits until the confirmation is stored: otherwise four cancelled logins would lock the
    /// key.
    ///
    /// - Parameters:
    ///   - hasTurn: whether no other program evaluates a guess of this account meanwhile.
    ///   - spendsLastGuess: whether to send a guess that locks the key if its answer is lost, too.
    /// - Throws: `KeyServiceError`. ``VaultError`` with code `lastGuess` or `busy`. ``StoreError`` with code `corrupt`
    ///   if the secret is right but the stored slot does not open. Any other one if the guess cannot be noted.
    func open(
        _ slot: Keyslot, of account: Account, stretched: SharedSecret, hasTurn: Bool, spendsLastGuess: Bool
    ) async throws -> OpenedKeyslot {
        guard slot.check.count == Signature.publicKeySize else { throw Self.damaged(nil) }
        let (key, guesses) = (slot.keyID, guesses(of: account))
        let requestKey = SharedSecret(try requestKey(slot.kind, stretched, id: key, of: account))
        // Read before the guess: a parallel login may confirm own guesses and forget them during the call.
        let before = try? await guesses.tickets(at: key, check: slot.check)
        let unfinished = try await guesses.unfinished(at: key)
        var repeated: Evaluation?
        if !unfinished.wereAllCounted, let last = unfinished.guesses.last,
            let element = try? RistrettoElement(last.element)
        {
            // Perhaps answers are lost now. Each guess without an answer counts as wrong, until the key locks. The
            // service counts the same element once, and this answer is as long as the next one. A short answer would
            // show less: some networks lose only long ones, and some gateways remove the header that authenticates an
            // evaluation.
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
            return try await evaluate(slot, of: account, stretched, requestKey, before: before, client)
        }
    }

    /// Sends a guess, and stores its confirmation if the secret was right.
    ///
    /// - Parameter before: the guesses of this store before this one.
    private func evaluate(
        _ slot: Keyslot, of account: Account, _ stretched: SharedSecret, _ requestKey: SharedSecret,
        before: OwnGuesses.Tickets?, _ client: OPRFClient
    ) async throws -> OpenedKeyslot {
        let (key, guesses) = (slot.keyID, guesses(of: account))
        let blinding = try OPRF.blind(stretched.bytes)
        let element = blinding.element
        // On the disk before the guess is sent: if the answer is lost, or this program dies, the next login sends this
        // element again and closes it.
        try await guesses.note(element, at: key)
        let answer: Evaluation
        do {
            answer = try await client.evaluate(key, element, requestKey: requestKey)
        } catch let error as KeyServiceError where error.wasNotCounted {
            // Sent again by the next login, it would count as one more guess.
            try? await guesses.forget(element, at: key)
            throw error
        }
        FaultPoint.guessEvaluated.reach()
        var opened: OpenedKeyslot
        do {
            opened = try await self.opened(slot, of: account, stretched, blinding, answer, before: before)
        } catch {
            try? await guesses.noteAnswer(to: element, at: key, limit: answer.limit)
            throw error
        }
        if let confirmation = opened.confirmation {
            let change = guesses.storing(
                confirmation, keeping: account.keyslots, limit: answer.limit, question: opened.laterQuestion)
            opened.isConfirmationStored = (try? await store.apply([change], to: account.id)) != nil
        }
        return opened
    }

    /// Opens the slot with the answer to a guess, and signs the confirmation.
    private func opened(
        _ slot: Keyslot, of account: Account, _ stretched: SharedSecret,
        _ blinding: borrowing OPRF.Blinding, _ answer: Evaluation, before: OwnGuesses.Tickets?
    ) async throws -> OpenedKeyslot {
        let key = slot.keyID
        let output = try finalize(stretched, blinding, answer.element)
        let confirmKey = try OPRFDerivation.confirmKey(output, id: key)
        guard try SecretBytes(copying: confirmKey.publicKey).isEqual(to: SecretBytes(copying: slot.check)) else {
            // Nothing that was made from the output leaves: the service may not be the right one.
            throw KeyServiceError(
                .wrongSecret, "The secret is wrong.", guessesRemaining: answer.guessesRemaining)
        }
        let vaultKey: VaultKey
        do {
            let slotKey = try OPRFDerivation.slotKey(
                output, slotID: slot.id, salt: salt(of: account, protection: slot.protection))
            vaultKey = try slot.vaultKey(underRight: slotKey, of: account.id)
        } catch let error as StoreError where error.code == .corrupt {
            throw Self.damaged(error.underlying)
        }
        let now = try? await guesses(of: account).tickets(at: key, check: slot.check)
        func isOwn(_ ticket: [UInt8]) -> Bool { before?.contains(ticket) == true || now?.contains(ticket) == true }
        let others = answer.others { isOwn($0) }
        // A confirmation can be sent again for ever, and nothing authenticates the note of own guesses: somebody could
        // write elements there, and guess with them later, for free. So it names at most as many own guesses
        // as lock the key: the open ones first, then the newest ones, which may never have arrived. After them come
        // guesses of earlier confirmations, which this key signed: somebody may send a recorded one again.
        let own = (now?.unconfirmed ?? []) + (before?.unconfirmed ?? [])
        let named = answer.open.map(\.ticket).filter(own.contains) + own
        var tickets = [answer.ticket]
        func add(_ more: [[UInt8]], upTo count: Int) {
            for ticket in more where tickets.count < count && !tickets.contains(ticket) { tickets.append(ticket) }
        }
        add(named, upTo: max(1, answer.limit))
        add(answer.open.map(\.ticket).filter { now?.confirmed.contains($0) == true }, upTo: OPRFDerivation.maxTickets)
        add(Array(now?.confirmed.prefix(OwnGuesses.repeatedTickets) ?? []), upTo: OPRFDerivation.maxTickets)
        var opened = OpenedKeyslot(vaultKey: vaultKey)
        opened.confirmation = confirmKey.confirmation(of: key, tickets: tickets)
        opened.ownerUnlockedAt = answer.ownerUnlockedAt
        opened.guessesElsewhere = others.filter(\.isOld).map(\.date).sorted()
        opened.serviceTime = answer.open.first { $0.ticket == answer.ticket }?.date
        if slot.kind.isGuessable {
            // The confirmation closes the guesses of this store.
            if others.contains(where: { !$0.isOld }) { opened.guessesLeft = max(0, answer.limit - others.count) }
            opened.laterQuestion = try? LaterQuestion(
                about: key, confirmKey, judgesGuesses: others.contains { !$0.isOld }, now: client.clock.now)
        }
        return opened
    }

    private static func damaged(_ error: (any Error)?) -> StoreError {
        StoreError(
            .corrupt,
            "The secret is right, but the stored keyslot or the address of its key service was changed. Use another unlock method, or restore the store from a backup.",
            underlying: error)
    }
}

/// The guesses of this store at one key that no confirmation names: the secret was wrong, or their answers were lost.
///
/// It is not authenticated, because no secret opened the keyslot yet. So nothing here may give anybody a guess.
struct UnfinishedGuesses: Sendable {
    /// The number of open guesses that locks a key, if no answer has told another one.
    static let usualLimit = 3

    struct Guess: Sendable {
        let element: [UInt8]
        /// Whether an authentic answer to it arrived, when it was sent first. An answer to the same element later does
        /// not count: somebody on the way can pass what is free, and lose what counts.
        let isAnswered: Bool
    }

    /// The guesses, oldest first.
    let guesses: [Guess]
    /// The number of open guesses that locks the key, from the last authentic answer; nil if there was none.
    let limit: Int?

    /// The number of open guesses that locks the key.
    var lockingCount: Int { limit ?? Self.usualLimit }

    var hasLostAnswers: Bool { guesses.contains { !$0.isAnswered } }

    /// Whether these guesses locked the key, and no answer was lost. If the key is open now, then an operator unlocked
    /// it, and the service would count each of these guesses again.
    var wereAllCounted: Bool { guesses.count >= lockingCount && !hasLostAnswers }

    /// Whether one more lost answer could lock the key, although the secret is right.
    ///
    /// - Parameters:
    ///   - answer: an authentic answer just now; nil without one. It may leave more guesses: an operator may have
    ///     unlocked the key.
    ///   - confirmed: the tickets of this store's last confirmations. The service may not have them yet.
    func isLastGuess(after answer: Evaluation?, confirmed: [[UInt8]]) -> Bool {
        let unsettled = answer?.open.count { confirmed.contains($0.ticket) } ?? 0
        let limit = answer?.limit ?? lockingCount
        // No guess is left to keep. The next answer says that the key is locked, and counts nothing.
        if let answer, answer.guessesRemaining == 0, unsettled == 0 { return false }
        return guesses.count + unsettled >= limit - 1 && (answer?.guessesRemaining ?? 1) <= 1
    }
}

extension Evaluation {
    /// The number of open guesses that locks the key. A service may name any number, so the sum must not overflow.
    var limit: Int { min(guessesRemaining, .max - open.count) + open.count }

    /// Returns the open guesses that nobody made here. A young one may be a login that runs now.
    func others(isOwn: (_ ticket: [UInt8]) -> Bool) -> [(date: Date, isOld: Bool)] {
        guard let mine = open.first(where: { $0.ticket == ticket }) else { return [] }
        return open.filter { $0.ticket != mine.ticket && !isOwn($0.ticket) }
            .map { ($0.date, $0.date < mine.date - LaterQuestion.leastAge) }
    }
}

extension KeyServiceError {
    /// Whether the service certainly did not count the guess: it never left, or the service itself refused it.
    fileprivate var wasNotCounted: Bool {
        switch code {
        case .unavailable: !mayHaveCounted
        // These refusals are authenticated.
        case .clock, .keyLocked, .unfinished, .keyEnded, .keyRevoked, .keyDestroyed: true
        default: false
        }
    }
}
