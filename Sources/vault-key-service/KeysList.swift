internal import ArgumentParser
internal import Configuration
internal import Foundation
internal import KeyServiceServer

extension Keys {
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List all keys, the oldest first.",
            discussion: """
                The log of the service shows the tag of a key, and not its id. If the master key cannot be read, the \
                list has no tags.
                """)

        @OptionGroup var common: CommonOptions
        @OptionGroup var limits: LimitOptions
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            try await Failure.reporting {
                let settings = try await Settings(common)
                let limits = try limits.limits(settings)
                let folder = try settings.folder()
                // systemd may give the master key only to the service.
                let tags = try? folder.keyTags()
                let lines = try folder.openStore().summaries().map { Line($0, limits: limits, tags: tags) }
                if json {
                    let encoder = JSONEncoder()
                    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
                    Output.result(String(decoding: try encoder.encode(lines), as: UTF8.self))
                } else {
                    for line in lines { Output.result(line.text) }
                }
            }
        }
    }

    /// A key as it is listed.
    private struct Line: Encodable {
        let id: String
        let keytag: String?
        let created: String
        let lastUsed: String?
        let guessesRemaining: Int
        let wrongGuesses: Int
        let wrongGuessesInAll: Int
        let lastWrong: String?
        let locked: Bool
        let secret: String

        init(_ summary: KeyRecordSummary, limits: GuessLimits, tags: KeyTags?) {
            let count = summary.wrongGuesses
            id = summary.id
            keytag = tags?.tag(of: summary.id)
            created = Self.text(summary.createdAt)
            lastUsed = summary.lastUsedAt.map(Self.text)
            guessesRemaining = limits.remaining(after: count)
            wrongGuesses = count.inARow
            wrongGuessesInAll = count.inAll
            lastWrong = count.inARow > 0 ? count.lastWrongAt.map(Self.text) : nil
            locked = guessesRemaining == 0
            secret = summary.secretKind == .strong ? "strong" : "stretched"
        }

        var text: String {
            let state = locked ? "locked" : "\(guessesRemaining) guesses left"
            let wrong =
                "\(wrongGuesses) wrong\(lastWrong.map { " (the last \($0))" } ?? ""), \(wrongGuessesInAll) in all"
            return """
                \(id)  tag \(keytag ?? "unknown")  created \(created)  last used \(lastUsed ?? "never")  \
                \(state)  \(wrong)  \(secret) secret
                """
        }

        private static func text(_ seconds: Int64) -> String {
            Date(timeIntervalSince1970: TimeInterval(seconds)).formatted(.iso8601)
        }
    }
}
