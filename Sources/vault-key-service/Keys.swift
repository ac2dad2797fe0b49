internal import ArgumentParser
internal import Configuration
internal import Foundation
internal import KeyServiceServer

struct Keys: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List, unlock and delete keys, also while the service runs.",
        subcommands: [List.self, Unlock.self, Delete.self])

    struct Unlock: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Unlock a key, and set its counts of wrong guesses to zero.")

        @OptionGroup var common: CommonOptions
        @Argument(help: "The id of the key.") var id: String

        func run() async throws {
            try await Failure.reporting { try await Settings(common).folder().openStore().unlock(keyID: id) }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a key for good. No way in can use it any more.")

        @OptionGroup var common: CommonOptions
        @Argument(help: "The id of the key.") var id: String

        func run() async throws {
            try await Failure.reporting { try await Settings(common).folder().openStore().delete(keyID: id) }
        }
    }
}
