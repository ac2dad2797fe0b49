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
            try await common.operate(.operatorUnlocks, keyID: id, audit) { store in
                try await store.unlock(keyID: id)
                Output.result("Unlocked the key \(id). It has all its guesses again.")
            }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End a key for good, but keep it in the list.")

        @OptionGroup var common: CommonOptions
        @OptionGroup var audit: AuditOptions
        @Argument(help: "The id of the key.") var id: String

        func run() async throws {
            try await common.operate(.operatorRevokes, keyID: id, audit) { store in
                try await store.revoke(keyID: id)
                Output.result("Revoked the key \(id) for good.")
            }
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
                let isErased = try await store.delete(keyID: id)
                Output.result("Deleted the key \(id).")
                if !isErased { Output.error("The files of the database may keep its sealed record for a while.") }
            }
        }
    }
}
