internal import ArgumentParser
internal import Configuration
internal import Foundation
internal import KeyServiceServer

struct Keys: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List, unlock and delete keys, also while the service runs.",
        subcommands: [List.self, Unlock.self, Delete.self])

    struct Unlock: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Give a key all its guesses back.")

        @OptionGroup var common: CommonOptions
        @Argument(help: "The id of the key.") var id: String

        func run() async throws {
            try await Failure.reporting { try await Settings(common).folder().openStore().unlock(keyID: id) }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a key for good. What it protects cannot be opened with it any more.")

        @OptionGroup var common: CommonOptions
        @Argument(help: "The id of the key.") var id: String

        func run() async throws {
            try await Failure.reporting { try await Settings(common).folder().openStore().delete(keyID: id) }
        }
    }
}

extension Keys {
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List all keys, the oldest first.")

        @OptionGroup var common: CommonOptions
        @Option(help: ArgumentHelp("What the service runs with. (default: 3)", valueName: "number"))
        var maxGuesses: Int?
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            try await Failure.reporting {
                let settings = try await Settings(common)
                let limit = try settings.number(maxGuesses, "maxGuesses", default: 3)
                let lines = try settings.folder().openStore().summaries().map { Line($0, maxGuesses: limit) }
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
        let created: String
        let lastUsed: String?
        let guessesRemaining: Int
        let locked: Bool
        let secret: String

        init(_ summary: KeyRecordSummary, maxGuesses: Int) {
            id = summary.id
            created = Self.text(summary.createdAt)
            lastUsed = summary.lastUsedAt.map(Self.text)
            guessesRemaining = max(0, maxGuesses - summary.wrongGuesses)
            locked = guessesRemaining == 0
            secret = summary.secretKind == .strong ? "strong" : "stretched"
        }

        var text: String {
            let state = locked ? "locked" : "\(guessesRemaining) guesses left"
            return "\(id)  created \(created)  last used \(lastUsed ?? "never")  \(state)  \(secret) secret"
        }

        private static func text(_ seconds: Int64) -> String {
            Date(timeIntervalSince1970: TimeInterval(seconds)).formatted(.iso8601)
        }
    }
}
