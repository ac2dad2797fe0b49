/// The guesses that locked a key, as far as this store knows.
enum CauseOfLock: Sendable, Hashable {
    /// Wrong secrets of this machine.
    case wrongSecrets
    /// Guesses of this machine whose answers were lost. The secret may have been right.
    case cutOff(Int)
    /// Guesses that were made without this store, at least so many.
    case elsewhere(Int)

    init(_ own: UnfinishedGuesses) {
        let lost = own.guesses.count { !$0.isAnswered }
        if own.guesses.count < own.lockingCount {
            self = .elsewhere(own.lockingCount - own.guesses.count)
        } else {
            self = lost > 0 ? .cutOff(lost) : .wrongSecrets
        }
    }

    /// Returns a sentence or two for the person.
    /// - Parameter name: the name of the unlock method.
    func text(_ name: String) -> String {
        switch self {
        case .wrongSecrets: "The key is locked after too many wrong \(name)s."
        case .cutOff(let count):
            "The key of the \(name) is locked. \(count == 1 ? "1 guess" : "\(count) guesses") of this machine "
                + "\(count == 1 ? "was" : "were") cut off before the answer came. Your \(name) may be right."
        case .elsewhere(let count):
            "The key of the \(name) is locked. At least \(count == 1 ? "1 guess was" : "\(count) guesses were") not made "
                + "with this store. Somebody may have a copy of the store."
        }
    }
}
