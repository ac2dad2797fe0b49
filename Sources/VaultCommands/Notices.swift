internal import CredentialVault
internal import Foundation
internal import VaultBase

/// Notices about an account, besides the result of the command. They go to standard error at once. With `--json`, they
/// are members of the result or the error.
enum Notices {
    private static let waiting = Lock<[AccountNotice]>([])

    /// Shows notices about the accounts from now on.
    static func listen(to accounts: Accounts, isJSON: Bool) {
        accounts.onNotice { notice in
            guard !isJSON else { return waiting.withLock { $0.append(notice) } }
            Spinner.stopAll()
            let hint = Hints.hint(for: notice).map { " " + $0 } ?? ""
            Output.note("vault: \(notice.description)\(hint)")
            if let remedy = Hints.remedy(for: notice) { Output.note("vault: \(remedy)") }
        }
    }

    /// Takes the notices for the next JSON; nil if there are none.
    static func take() -> NoticeReport? {
        let notices = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        return notices.isEmpty ? nil : NoticeReport(notices)
    }

    /// Writes the notices that no JSON took to standard error.
    static func tellRest() {
        if let report = take() { Output.report(report) }
    }
}

/// Notices as members of a JSON object.
struct NoticeReport: Encodable {
    private struct Guesses: Encodable {
        let unlockMethod: String
        let count: Int
        let last: Date?
        let since: Date?
        let renewed: Bool
        let perhapsRight: Bool
    }

    private struct Method: Encodable {
        let unlockMethod: String
    }

    private struct Key: Encodable {
        let unlockMethod: String
        let keyId: String?
    }

    private let wrongGuesses: [Guesses]?
    private let keysNotEnded: [Key]?
    private let unlockMethodsRemoved: [Method]?
    private let keyServiceNotTrusted: [Method]?
    private let keysUnlocked: [Unlocked]?

    private struct Unlocked: Encodable {
        let unlockMethod: String
        let at: Date?
    }

    init(_ notices: [AccountNotice]) {
        let guesses = notices.filter { $0.code == .wrongGuesses }.map {
            Guesses(
                unlockMethod: $0.keyslot.rawValue, count: $0.count, last: $0.last, since: $0.since,
                renewed: $0.isRenewed, perhapsRight: $0.mayBeRight)
        }
        func methods(_ code: AccountNotice.Code) -> [Method]? {
            let methods = notices.filter { $0.code == code }.map { Method(unlockMethod: $0.keyslot.rawValue) }
            return methods.isEmpty ? nil : methods
        }
        wrongGuesses = guesses.isEmpty ? nil : guesses
        let keys = notices.filter { $0.code == .keyNotEnded }.map {
            Key(unlockMethod: $0.keyslot.rawValue, keyId: $0.keyID)
        }
        keysNotEnded = keys.isEmpty ? nil : keys
        unlockMethodsRemoved = methods(.keyslotRemoved)
        keyServiceNotTrusted = methods(.keyServiceNotTrusted)
        let unlocked = notices.filter { $0.code == .keyUnlocked }.map {
            Unlocked(unlockMethod: $0.keyslot.rawValue, at: $0.last)
        }
        keysUnlocked = unlocked.isEmpty ? nil : unlocked
    }

    /// A value that is a JSON object, with the notices as further members.
    struct Beside<Value: Encodable>: Encodable {
        let value: Value
        let report: NoticeReport

        func encode(to encoder: any Encoder) throws {
            try value.encode(to: encoder)
            try report.encode(to: encoder)
        }
    }
}
