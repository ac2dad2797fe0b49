public import Foundation
internal import VaultBase
public import VaultStorage

/// A notice about an account for its person, in addition to the result of a call.
public struct AccountNotice: Sendable, Hashable, CustomStringConvertible {
    /// The subject of the notice. New codes may be added, so a `switch` over them needs a `default`.
    public struct Code: Hashable, Sendable {
        /// The code as a word, stable across versions.
        public let name: String

        /// Secrets were tried, but not with this store. Somebody may have a copy of the store. The guesses were wrong,
        /// unless ``AccountNotice/mayBeRight`` is true.
        public static let wrongGuesses = Code(name: "wrongGuesses")
        /// The key of a removed unlock method is not ended yet. Until then an older copy of the store opens with the
        /// old secret.
        public static let keyNotEnded = Code(name: "keyNotEnded")
        /// An unlock method without the network was removed, because the machine's policy forbids it.
        public static let keyslotRemoved = Code(name: "keyslotRemoved")
        /// An unlock method should have got a new key, but the key service is not the known one, or somebody answers in
        /// its place. The old key stays.
        public static let keyServiceNotTrusted = Code(name: "keyServiceNotTrusted")
        /// The key of an unlock method was locked, and somebody who signed in at the provider unlocked it.
        public static let keyUnlocked = Code(name: "keyUnlocked")
    }

    /// The code that tells what the notice is about.
    public let code: Code
    /// The account that the notice is about.
    public let account: AccountID
    /// The unlock method.
    public let keyslot: Keyslot.Kind
    /// The number of guesses, with `wrongGuesses`.
    public let count: Int
    /// The time of the last guess, with `wrongGuesses`; nil if the key service does not tell. The time of the unlock,
    /// with `keyUnlocked`.
    public let last: Date?
    /// The time when the unlock method last opened the account on this machine, with `wrongGuesses`; nil if it never
    /// did.
    public let since: Date?
    /// Whether the unlock method has a new key now and the old key has ended, with `wrongGuesses`. Then an old copy of
    /// the store no longer opens with it.
    public var isRenewed: Bool { renewal == .done }
    let renewal: Renewal
    /// Whether a guess was perhaps right, with `wrongGuesses`. With protocol version 2 the key service cannot know.
    public let mayBeRight: Bool
    /// When the key ends, with `keyNotEnded`.
    package let end: End
    /// Whether the account of the key was deleted, with `keyNotEnded`.
    var isAccountGone = false
    /// The id of the key at the key service, by which the service's operator finds the key, with `keyNotEnded`.
    public internal(set) var keyID: String?

    /// The state of the unlock method after guesses that were not made here.
    enum Renewal: Hashable {
        /// The unlock method has its old key.
        case none
        /// The unlock method gets a new key with the next access token.
        case waiting
        /// The unlock method has a new key, but the old key has not ended.
        case oldKeyLeft
        /// The unlock method has a new key, and the old key has ended.
        case done

        /// Whether the unlock method has a new key.
        var isNew: Bool { self == .oldKeyLeft || self == .done }
    }

    /// The time when a key of a removed unlock method ends.
    package enum End: Hashable, Sendable {
        /// At the next call to the key service that succeeds.
        case later
        /// At the next login: only the vault key opens the signature that ends it.
        case atLogin
        /// Never: the account and its vault key are gone.
        case never
    }

    /// The text for the person, up to four sentences.
    public var description: String {
        let name = keyslot.displayName
        if code == .keyslotRemoved {
            return
                "The policy of this machine forbids the \(name) without the network. This unlock method was removed."
        }
        if code == .keyServiceNotTrusted {
            return
                "The \(name) did not get a new key, because the key service is not the known one, or somebody answers in its place. The old key stays. Use another network, or ask the operator of the key service for its identity key."
        }
        if code == .keyUnlocked {
            let time = last.map { " at \($0.localText)" } ?? ""
            return
                "The \(name) was locked after too many guesses, and a sign-in at the identity provider unlocked it\(time). If this was not you, somebody can sign in as you: change your password there."
        }
        guard code == .wrongGuesses else {
            let old = isAccountGone ? name : "old \(name)"
            return switch end {
            case .later where isAccountGone:
                "The key service could not end the key of the \(name). The next login or registration with this key service tries again. Until then, an old copy of the store still opens with the \(name)."
            case .later:
                "The key service could not end the key of the old \(name). The next login tries again."
            case .atLogin: "The key of the old \(name) ends at the next login."
            case .never:
                "The key of the \(old) was not ended, because no secret opened the account. Until the key is revoked, an old copy of the store still opens with the \(name)."
            }
        }
        let tried =
            mayBeRight
            ? triedElsewhere(name) : count == 1 ? "1 wrong \(name) was tried" : "\(count) wrong \(name)s were tried"
        let since = start.map { " since \($0.localText)" } ?? ""
        let last = last.map { (count == 1 ? ", at " : ", the last one at ") + $0.localText } ?? ""
        let state =
            switch renewal {
            case .none: "The \(name) did not get a new key. The next login tries again."
            case .waiting:
                "The \(name) gets a new key as soon as the login has an access token. Until then the old key stays."
            case .oldKeyLeft:
                "The \(name) has a new key, but the old key has not ended yet. Until then an old copy still opens with it."
            case .done: "The \(name) has a new key. An old copy no longer opens with it."
            }
        let advice =
            mayBeRight && renewal.isNew
            ? " If you did not do this, somebody may have opened the account and have its vault key." : ""
        return
            "\(tried)\(since)\(last), and not with this store. Somebody may have a copy of the store. \(state)\(advice)"
    }

    /// The time since which the guesses were made. Nil if the last guess is older: the key service has another clock,
    /// and after a restore it knows only older guesses.
    private var start: Date? {
        if let since, let last, last < since { return nil }
        return since
    }

    private func triedElsewhere(_ name: String) -> String {
        count == 1
            ? "1 guess with the \(name), perhaps a right one, was made"
            : "\(count) guesses with the \(name), perhaps right ones, were made"
    }

    static func wrongGuesses(
        _ count: Int, last: Date?, at slot: Keyslot, of account: AccountID, _ renewal: Renewal
    ) -> AccountNotice {
        AccountNotice(
            code: .wrongGuesses, account: account, keyslot: slot.kind, count: count, last: last,
            since: slot.lastUsedAt, renewal: renewal, mayBeRight: false, end: .later)
    }

    static func guessesElsewhere(
        _ count: Int, last: Date?, at slot: Keyslot, of account: AccountID, _ renewal: Renewal
    ) -> AccountNotice {
        AccountNotice(
            code: .wrongGuesses, account: account, keyslot: slot.kind, count: count, last: last,
            since: slot.lastUsedAt, renewal: renewal, mayBeRight: true, end: .later)
    }

    static func keyslotRemoved(_ kind: Keyslot.Kind, of account: AccountID) -> AccountNotice {
        AccountNotice(
            code: .keyslotRemoved, account: account, keyslot: kind, count: 1, last: nil, since: nil, renewal: .none,
            mayBeRight: false, end: .never)
    }

    static func keyServiceNotTrusted(_ kind: Keyslot.Kind, of account: AccountID) -> AccountNotice {
        AccountNotice(
            code: .keyServiceNotTrusted, account: account, keyslot: kind, count: 1, last: nil, since: nil,
            renewal: .none, mayBeRight: false, end: .later)
    }

    static func keyUnlocked(_ kind: Keyslot.Kind, at time: Date, of account: AccountID) -> AccountNotice {
        AccountNotice(
            code: .keyUnlocked, account: account, keyslot: kind, count: 1, last: time, since: nil, renewal: .none,
            mayBeRight: false, end: .later)
    }

    static func keyNotEnded(
        _ kind: Keyslot.Kind, _ keyID: String, of account: AccountID, _ end: End, isAccountGone: Bool
    ) -> AccountNotice {
        AccountNotice(
            code: .keyNotEnded, account: account, keyslot: kind, count: 1, last: nil, since: nil, renewal: .none,
            mayBeRight: false, end: end, isAccountGone: isAccountGone, keyID: keyID)
    }
}

/// Sends every notice to every handler.
final class AccountNotices: Sendable {
    private let handlers = Lock<[@Sendable (AccountNotice) -> Void]>([])

    func add(_ handler: @escaping @Sendable (AccountNotice) -> Void) {
        handlers.withLock { $0.append(handler) }
    }

    func send(_ notice: AccountNotice) {
        for handler in handlers.withLock({ $0 }) { handler(notice) }
    }
}
