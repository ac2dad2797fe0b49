package import Foundation
internal import KeyServiceClient
internal import VaultBase
internal import VaultCrypto
package import VaultStorage

// The questions to the key service that cost no guess.
extension OPRFKeys {
    package func answer(about slot: Keyslot, of account: Account, needsProof: Bool) async -> RevocationAnswer {
        // For other kinds, the disk does not hold what authenticates a request.
        guard slot.kind.isGuessable else { return await saying(of: slot, account) }
        if !needsProof {
            let saying = await saying(of: slot, account)
            guard case .unproven = saying else { return saying }
        }
        // Somebody between here and the service may have said so. An evaluation is authenticated. It costs no guess if
        // the key was revoked. Otherwise the next login takes it back.
        let answer =
            (try? await withTurn(of: account.id) { _ in await provenAnswer(about: slot, of: account) }) ?? .none
        await sendConfirmations(of: account)
        return answer
    }

    package func ask(
        _ question: LaterQuestion, about slot: Keyslot, of account: Account,
        tell: @escaping @Sendable (_ stayedOpen: [Date]) async -> Void
    ) async {
        let (key, guesses) = (slot.keyID, guesses(of: account))
        guard let element = question.element(of: key, check: slot.check) else {
            try? await guesses.forgetQuestion(at: key)
            return
        }
        try? await withTurn(of: account.id) { _ in
            // Another program may have asked meanwhile, or a login has judged the guesses.
            guard let now = try await guesses.questions()[key], now.judgesGuesses, now.element == question.element
            else {
                return
            }
            let own = try await guesses.tickets(at: key, check: slot.check)
            try await guesses.begin(question, at: key)
            let requestKey = SharedSecret(
                try OPRFDerivation.requestKey(from: SecretBytes(copying: account.deviceSecret), id: key))
            let stayedOpen = try await client.evaluate(key, element, requestKey: requestKey)
                .others { own.contains($0) }.filter(\.isOld).map(\.date).sorted()
            if !stayedOpen.isEmpty { await tell(stayedOpen) }
            // Noted last, so that the next program asks again if this one dies earlier.
            try await guesses.noteJudged(by: question, at: key)
        }
        await sendConfirmations(of: account)
    }

    /// Asks about a key with a guess whose element means nothing. The same element is used again, so all questions
    /// together open one guess at most.
    private func provenAnswer(about slot: Keyslot, of account: Account) async -> RevocationAnswer {
        do {
            let key = slot.keyID
            let requestKey = SharedSecret(
                try OPRFDerivation.requestKey(from: SecretBytes(copying: account.deviceSecret), id: key))
            let guesses = guesses(of: account)
            let element: RistrettoElement
            // Whether a confirmation takes this guess back afterwards.
            var isTakenBack = false
            if let question = try await guesses.questions()[key],
                let prepared = question.element(of: key, check: slot.check)
            {
                // The last login signed the confirmation of this guess, so it costs no guess.
                try await guesses.begin(question, at: key)
                element = prepared
                isTakenBack = true
            } else if let last = try await guesses.unfinished(at: key).guesses.last,
                let open = try? RistrettoElement(last.element)
            {
                element = open
            } else {
                element = try OPRF.blind(SecretBytes.random(count: OPRFDerivation.stretchedSize)).element
                try await guesses.note(element, at: key)
            }
            let answer = try await client.evaluate(key, element, requestKey: requestKey)
            // Its answer was not lost, so it does not keep the last guess.
            try? await guesses.noteAnswer(to: element, at: key, limit: answer.limit)
            let open = answer.open.count - (isTakenBack ? 1 : 0)
            if answer.limit > open {
                // The key is open. If it was locked, somebody has unlocked it.
                try? await KeyslotNotes(store: store, account: account.id).forgetRefusal(
                    of: slot, left: open > 0 ? (answer.limit - open, client.clock.now) : nil)
            }
            return .live(isProven: true)
        } catch let error as KeyServiceError {
            // A lock, a revocation, or another end of the key.
            try? await KeyslotNotes(store: store, account: account.id).note(
                error, for: slot, of: account, now: client.clock.now)
            switch error.code {
            case .keyRevoked: return .revoked
            case .keyLocked: return .locked
            case .busy where await wasJustLocked(slot, of: account):
                try? await KeyslotNotes(store: store, account: account.id).noteBusy(slot, now: client.clock.now)
                return .locked
            case .unfinished: return .live(isProven: true)
            case .keyEnded, .keyDestroyed: return .ended
            case .noSuchKey: return .live(isProven: false)
            default: return .none
            }
        } catch {
            return .none
        }
    }

    /// Whether the key was locked here in the last ten seconds. The key service calls such a key busy, because the
    /// confirmation of a right guess could still come.
    private func wasJustLocked(_ slot: Keyslot, of account: Account) async -> Bool {
        guard takesBusyForLocked,
            let time = try? await KeyslotNotes(store: store, account: account.id).reading().lockedAt(slot)
        else { return false }
        return abs(client.clock.now.timeIntervalSince(time)) <= Self.busyTime
    }

    /// The time in which the key service calls a locked key busy after the last guess, in seconds.
    private static let busyTime: TimeInterval = 10

    /// Sends the last confirmation of a key again, which changes nothing. Nothing authenticates the answer.
    ///
    /// - Returns: `unproven` also for another end of the key.
    private func saying(of slot: Keyslot, _ account: Account) async -> RevocationAnswer {
        do {
            guard let last = try await guesses(of: account).sent(of: slot.keyID).last else {
                // Every key has one, unless somebody removed the record. A guessable key is then asked by an
                // evaluation.
                return slot.kind.isGuessable ? .unproven : .none
            }
            try await client.confirm(last)
            return .live(isProven: false)
        } catch let error as KeyServiceError {
            switch error.code {
            case .keyRevoked: return .unproven
            case .keyEnded, .keyDestroyed: return slot.kind.isGuessable ? .unproven : .live(isProven: false)
            case .noSuchKey: return .live(isProven: false)
            default: return .none
            }
        } catch {
            return .none
        }
    }
}
