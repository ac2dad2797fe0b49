internal import Foundation
internal import KeyServiceClient
internal import VaultBase
internal import VaultCrypto
package import VaultStorage

/// A question for the key service some time after a login: are the guesses still open that were young at the login? Was
/// the key revoked?
///
/// A young guess may be a parallel login of the same person, which confirms it soon. A thief's guess stays open. The
/// question is a guess with a random element. The same one can be asked again. Its confirmation was signed at the
/// login, while the confirm key was there. Neither is secret: the input of the element is forgotten, so its evaluation
/// tests no secret.
package struct LaterQuestion: Sendable, Codable {
    /// The age in seconds at which a guess of another store is no parallel login any more.
    static let leastAge: TimeInterval = 60

    let element: [UInt8]
    /// Whether young guesses are to be judged.
    var judgesGuesses: Bool
    let confirmation: KeyConfirmation
    /// The time of the login by this machine's clock.
    let askedFrom: Date

    /// Makes a question about a key.
    ///
    /// - Parameters:
    ///   - confirmKey: signs the confirmation of the question's own guess.
    ///   - judgesGuesses: whether young guesses are to be judged.
    init(about key: String, _ confirmKey: borrowing SigningKey, judgesGuesses: Bool, now: Date) throws {
        let blinded = try OPRF.blind(SecretBytes.random(count: OPRFDerivation.stretchedSize)).element
        element = blinded.bytes
        confirmation = confirmKey.confirmation(of: key, tickets: [OPRFDerivation.ticket(key, blinded)])
        askedFrom = now
        self.judgesGuesses = judgesGuesses
    }

    /// Returns the element, if the question's own guess can be confirmed.
    ///
    /// - Parameter check: the public key of the confirmations. Nobody else can make a question: the store is not
    ///   authenticated.
    func element(of key: String, check: [UInt8]) -> RistrettoElement? {
        guard let element = try? RistrettoElement(element), confirmation.id == key,
            confirmation.tickets == [OPRFDerivation.ticket(key, element)], confirmation.isSigned(by: check)
        else { return nil }
        return element
    }
}

// At a login, an open guess of somebody else may be too young to judge: perhaps it is a parallel login of the same
// person. A minute later the service is asked again, and the person learns of guesses that stayed open.
extension Accounts {
    /// Asks the later questions of an account as soon as they are due. A program that ends earlier, or that gets no
    /// answer, leaves them to the next program that has the account open.
    @discardableResult
    package func askLaterQuestions(of id: AccountID) -> Task<Void, Never> {
        Task {
            let all = (try? await OwnGuesses(store: store, account: id).questions()) ?? [:]
            let questions = all.filter(\.value.judgesGuesses)
            guard !questions.isEmpty else { return }
            let left = questions.values.map { LaterQuestion.leastAge - clock.now.timeIntervalSince($0.askedFrom) }
            // A clock that was changed meanwhile must not delay them for long.
            let wait = min(max(left.max() ?? 0, 0) + 1, 2 * LaterQuestion.leastAge)
            guard (try? await timer.sleep(for: .seconds(wait))) != nil, let account = try? await store.account(id)
            else { return }
            for (key, question) in questions {
                await ask(question, about: account.keyslots.first { $0.keyID == key }, key, of: account)
            }
        }
    }

    private func ask(_ question: LaterQuestion, about slot: Keyslot?, _ key: String, of account: Account) async {
        guard let slot, slot.kind.isGuessable, let keys = try? keys(of: slot, account) else {
            try? await OwnGuesses(store: store, account: account.id).forgetQuestion(at: key)
            return
        }
        await keys.ask(question, about: slot, of: account) { stayedOpen in
            await tell(.guessesElsewhere(stayedOpen.count, last: stayedOpen.last, at: slot, of: account.id, .none))
        }
    }

    /// Tells a person of guesses that were not made here, and notes that for the state of the account.
    func tell(_ notice: AccountNotice) async {
        try? await KeyslotNotes(store: store, account: notice.account).note(notice, toldAt: clock.now)
        notices.send(notice)
    }
}
