internal import KeyServiceClient

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
