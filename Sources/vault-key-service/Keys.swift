internal import ArgumentParser
internal import KeyServiceAudit
internal import KeyServiceCore

struct Keys: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List, unlock, revoke and delete keys, also while the service runs.",
        subcommands: [List.self, Unlock.self, Revoke.self, Delete.self])

    struct Unlock: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Unlock a key, and set its counts of wrong guesses to zero.")

        @OptionGroup var common: CommonOptions
        @OptionGroup var audit: AuditOptions
        @Argument(help: "The id of the key.") var id: String

        func run() async throws {
            try await common.operate(.operatorUnlocks, keyID: id, audit) { try await $0.unlock(keyID: id) }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End a key for good, but keep it in the list.")

        @OptionGroup var common: CommonOptions
        @OptionGroup var audit: AuditOptions
        @Argument(help: "The id of the key.") var id: String

        func run() async throws {
            try await common.operate(.operatorRevokes, keyID: id, audit) { try await $0.revoke(keyID: id) }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a key for good. No unlock method can use it any more.")

        @OptionGroup var common: CommonOptions
        @OptionGroup var audit: AuditOptions
        @Argument(help: "The id of the key.") var id: String

        func run() async throws {
            try await common.operate(.operatorDeletes, keyID: id, audit) { store in
                if try await !store.delete(keyID: id) {
                    Output.error(
                        "The key is deleted. The files of the database may keep its sealed record for a while.")
                }
            }
        }
    }
}
