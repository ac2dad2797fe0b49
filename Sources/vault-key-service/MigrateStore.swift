internal import ArgumentParser
internal import KeyServiceAudit
internal import KeyServiceCore
internal import KeyServiceSQLite

struct MigrateStore: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Move all keys from a data folder into PostgreSQL. Stop the service first.",
        discussion: """
              vault-key-service migrate-store --from sqlite:/srv/keys --to postgresql://vault@db1,db2/vault

            The command copies each key and compares the copies. After that, the service refuses the old database. \
            After a failure, type the command again. The old database stays in the folder until you delete it.
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var audit: AuditOptions

    @Option(help: ArgumentHelp("The data folder, after the word sqlite.", valueName: "sqlite:dir"))
    var from: String

    @Option(help: ArgumentHelp("A new PostgreSQL database, without a password.", valueName: "url"))
    var to: String

    func run() async throws {
        try await Failure.reporting {
            guard from.hasPrefix("sqlite:") else {
                throw Failure.configuration("\"\(from)\" is not of the form sqlite:DIR.")
            }
            var common = common
            common.data = String(from.dropFirst("sqlite:".count))
            common.databaseUrl = to
            let settings = try Settings(common)
            guard let store = try await settings.sharedStore(common, for: .create) else { return }
            defer { store.close() }
            let folder = try settings.folder()
            let count = try await audit.recording(.operatorMovesKeys, in: folder.auditLogs(), settings) {
                try await folder.moveKeys(into: store) { count in
                    if count % 10_000 == 0 { Output.error("\(count) keys are copied.") }
                }
            }
            let moved = count.map { $0 == 1 ? "Moved 1 key." : "Moved \($0) keys." }
            Output.result(moved ?? "The keys were moved before. Nothing is left to do.")
            Output.result("Start the service: vault-key-service serve --data \(common.data ?? "") --database-url \(to)")
        }
    }
}
