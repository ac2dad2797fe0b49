internal import Foundation
internal import KeyServiceClient
internal import VaultBase
internal import VaultCrypto
package import VaultStorage

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
