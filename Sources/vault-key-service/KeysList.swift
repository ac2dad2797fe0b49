internal import ArgumentParser
internal import Foundation
internal import KeyServiceCore
internal import KeyServiceSQLite
internal import VaultBase

extension Keys {
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List all keys, the oldest first.",
            discussion: """
                The log of the service shows the tag of a key instead of its id. If this command cannot read the \
                master key, the list has no tags.
                """)

        private static let pageSize = 1000

        @OptionGroup var common: CommonOptions
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            try await common.operate(toRead: true) { store in
                let state = try await store.state()
                // systemd may give the master key only to the service.
                let masterKeys = try? Settings(common).folder().masterKeys()
                let tags = try masterKeys.map { try KeyTags($0, for: state) }
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
                encoder.dateEncodingStrategy = .iso8601
                var row: Int64?
                var isFirst = true
                // There may be millions of keys, so they come page by page.
                repeat {
                    let page = try await store.summaries(after: row, count: Self.pageSize, state.limits)
                    row = page.last
                    for key in page.keys {
                        let line = Line(key, tags: tags)
                        let text =
                            json
                            ? (isFirst ? "[\n" : ",\n") + String(decoding: try encoder.encode(line), as: UTF8.self)
                            : line.text + "\n"
                        try Output.part(text)
                        isFirst = false
                    }
                } while row != nil
                if json { try Output.part(isFirst ? "[]\n" : "\n]\n") }
            }
        }
    }

    private struct Line: Encodable {
        let id: String
        let keytag: String?
        let created: Date
        let lastUsed: Date?
        let guessesRemaining: Int
        let wrongGuesses: Int
        let wrongGuessesInAll: Int
        let lastWrong: Date?
        let locked: Bool
        let revoked: Bool
        let masterKey: String
        let secret: String
        let `protocol`: Int
        let state: String

        init(_ summary: KeyRecordSummary, tags: KeyTags?) {
            let count = summary.wrongGuesses
            id = summary.id
            keytag = tags?.tag(of: summary.id)
            created = Self.date(summary.createdAt)
            lastUsed = summary.lastUsedAt.map(Self.date)
            guessesRemaining = summary.guessesRemaining
            state = summary.lock?.rawValue ?? "live"
            wrongGuesses = count.inARow
            wrongGuessesInAll = count.inAll
            lastWrong = count.inARow > 0 ? count.lastWrongAt.map(Self.date) : nil
            locked = summary.lock != nil
            revoked = summary.lock == .revoked
            masterKey = summary.masterKeyID.description
            switch summary.details {
            case .strong: (secret, `protocol`) = ("strong", 1)
            case .stretched: (secret, `protocol`) = ("stretched", 1)
            // The service learns nothing about the secret.
            case .oprf: (secret, `protocol`) = ("unknown", 2)
            }
        }

        var text: String {
            let state = locked ? state : "\(guessesRemaining) guess\(guessesRemaining == 1 ? "" : "es") left"
            let last = lastWrong.map { " (the last \($0.localText))" } ?? ""
            let wrong =
                `protocol` == 1
                ? "\(wrongGuesses) wrong\(last), \(wrongGuessesInAll) in all  \(secret) secret"
                : "\(wrongGuesses) open\(last)  protocol 2"
            return """
                \(id)  tag \(keytag ?? "unknown")  created \(created.localText)  last used \(lastUsed?.localText ?? "never")  \
                \(state)  \(wrong)
                """
        }

        private static func date(_ seconds: Int64) -> Date { Date(timeIntervalSince1970: TimeInterval(seconds)) }
    }
}
