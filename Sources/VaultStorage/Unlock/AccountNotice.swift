public import Foundation
internal import VaultLocks

/// Something about an account that its person should know, beside what was asked for.
public struct AccountNotice: Sendable, Hashable, CustomStringConvertible {
    /// What it is about. New ones may be added, so a `switch` over them needs a `default`.
    public struct Code: Hashable, Sendable {
        /// The code as a word, stable across versions.
        public let name: String

        /// Wrong secrets were tried, and not with this store: somebody may have a copy of it.
        public static let wrongGuesses = Code(name: "wrongGuesses")
        /// The key of a way in that is gone could not be ended at the key service yet. Until it is, a copy of the store
        /// that was taken earlier opens with the old secret.
        public static let keyNotEnded = Code(name: "keyNotEnded")
    }

    /// The code that tells what the notice is about.
    public let code: Code
    /// The account that the notice is about.
    public let account: AccountID
    /// The way in.
    public let keyslot: Keyslot.Kind
    /// With `wrongGuesses`: how many were tried.
    public let count: Int
    /// With `wrongGuesses`: when the last was tried, where the key service tells.
    public let last: Date?
    /// With `wrongGuesses`: when the way in opened the account on this machine before; nil when it never did.
    public let since: Date?
    /// With `wrongGuesses`: whether the way in has a new key now, so that an old copy of the store no longer opens with it.
    public let isRenewed: Bool

    /// One or two sentences for the person.
    public var description: String {
        let name = keyslot.displayName
        guard code == .wrongGuesses else {
            return
                "The key service could not end the key of the old \(name). The next login tries again. To try now: vault doctor"
        }
        let tried = count == 1 ? "1 wrong \(name) was tried" : "\(count) wrong \(name)s were tried"
        let since = since.map { " since \($0.formatted(.iso8601))" } ?? ""
        let last = last.map { (count == 1 ? ", at " : ", the last one at ") + $0.formatted(.iso8601) } ?? ""
        let state =
            isRenewed
            ? "The \(name) has a new key. An old copy no longer opens with it."
            : "The \(name) did not get a new key. The next login tries again."
        return
            "\(tried)\(since)\(last), and not with this store. Somebody may have a copy of the store. \(state)"
    }

    static func wrongGuesses(
        _ count: Int, last: Date?, at slot: Keyslot, of account: AccountID, isRenewed: Bool
    ) -> AccountNotice {
        AccountNotice(
            code: .wrongGuesses, account: account, keyslot: slot.kind, count: count, last: last,
            since: slot.lastUsedAt, isRenewed: isRenewed)
    }

    static func keyNotEnded(_ kind: Keyslot.Kind, of account: AccountID) -> AccountNotice {
        AccountNotice(
            code: .keyNotEnded, account: account, keyslot: kind, count: 1, last: nil, since: nil, isRenewed: false)
    }
}

/// Hands every notice to everybody who wants them.
final class AccountNotices: Sendable {
    private let handlers = Lock<[@Sendable (AccountNotice) -> Void]>([])

    func add(_ handler: @escaping @Sendable (AccountNotice) -> Void) {
        handlers.withLock { $0.append(handler) }
    }

    func send(_ notice: AccountNotice) {
        for handler in handlers.withLock({ $0 }) { handler(notice) }
    }
}
