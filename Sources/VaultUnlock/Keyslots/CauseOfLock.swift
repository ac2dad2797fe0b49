internal import VaultStorage

/// The tries that locked a key, as far as this store knows.
enum CauseOfLock: Sendable, Hashable {
    /// Wrong secrets of this machine.
    case wrongSecrets
    /// Tries of this machine whose answers were lost. The secret may have been right.
    case cutOff(Int)
    /// Tries that were made without this store, at least so many.
    case elsewhere(Int)

    init(_ own: UnfinishedTries) {
        let lost = own.tries.count { !$0.isAnswered }
        if own.tries.count < own.lockingCount {
            self = .elsewhere(own.lockingCount - own.tries.count)
        } else {
            self = lost > 0 ? .cutOff(lost) : .wrongSecrets
        }
    }

    /// Returns a sentence or two for the person.
    ///
    /// - Parameter name: the name of the way in.
    func text(_ name: String) -> String {
        switch self {
        case .wrongSecrets: "The key is locked after too many wrong \(name)s."
        case .cutOff(let count):
            "The key of the \(name) is locked. \(count == 1 ? "1 try" : "\(count) tries") of this machine "
                + "\(count == 1 ? "was" : "were") cut off before the answer came. Your \(name) may be right."
        case .elsewhere(let count):
            "The key of the \(name) is locked. At least \(count == 1 ? "1 try was" : "\(count) tries were") not made "
                + "with this store. Somebody may have a copy of the store."
        }
    }
}
