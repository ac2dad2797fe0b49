internal import ArgumentParser
internal import KeyServiceAudit
internal import KeyServiceCore
internal import KeyServiceSQLite

struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copy the database into a new file, also while the service runs.",
        discussion: """
              vault-key-service backup --data /srv/keys --to keys-backup.sqlite

            The copy does not contain the master key, and is useless without it. To restore the copy, type: \
            vault-key-service restore
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var audit: AuditOptions

    @Option(help: ArgumentHelp("The file to write.", valueName: "file"))
    var to: String

    func run() async throws {
        try await Failure.reporting {
            let settings = try Settings(common)
            try settings.refuseSharedStore(common, "Use pg_basebackup or pg_dump of PostgreSQL.")
            let store = try settings.folder().openStore(toRead: true)
            defer { store.close() }
            try await audit.recording(.operatorBacksUp, in: store.auditLogs(), settings) { try store.backUp(to: to) }
            Output.result("Copied the database to \(to).")
        }
    }
}

struct Restore: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Put a backup in the place of the database. Stop the service first.",
        discussion: """
              vault-key-service restore --data /srv/keys --from keys-backup.sqlite

            A backup does not know of later wrong guesses. So each key has at most one guess left, until its owner \
            logs in. A backup from before a rotate-master-key also needs --old-master-key-file. Its keys are then \
            sealed under the present master key. The old database stays in the data folder as \
            keys.sqlite.before-restore.
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var audit: AuditOptions

    @Option(help: ArgumentHelp("The backup.", valueName: "file"))
    var from: String

    func run() async throws {
        try await Failure.reporting {
            let settings = try Settings(common)
            try settings.refuseSharedStore(
                common, "Restore the database with PostgreSQL. Then type: \(Failure.program) accept-rollback")
            let folder = try settings.folder()
            let outcome = try await audit.recording(.operatorRestores, in: folder.auditLogs(), settings) {
                try await folder.restore(from: from, auditLog: audit.writer(settings)?.id())
            }
            if outcome.resealed > 0 {
                let sealed = outcome.resealed == 1 ? "1 key" : "\(outcome.resealed) keys"
                Output.result("Sealed \(sealed) under the master key in \(folder.masterKeyPath).")
            }
            Output.result("Restored. Start the service again.")
            try outcome.requireUndamaged()
        }
    }
}

struct AcceptRollback: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Go on with an older database. Stop the service first.",
        discussion: """
            The service does not start if its database is older than the high-water mark, or if the mark is missing. \
            Perhaps a thief put back the old database to guess again. After this command, each key has at most one \
            guess left, until its owner logs in.
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var audit: AuditOptions

    func run() async throws {
        try await Failure.reporting {
            let settings = try Settings(common)
            let folder = try settings.folder()
            if let store = try await settings.sharedStore(common, for: .operate) {
                defer { store.close() }
                try await audit.recording(.operatorAcceptsRollback, in: store.auditLogs(), settings) {
                    try await folder.acceptRollback(of: store)
                }
            } else {
                try await audit.recording(.operatorAcceptsRollback, in: folder.auditLogs(), settings) {
                    try await folder.acceptRollback()
                }
            }
            Output.result("Accepted. Each key has at most one guess left. Start the service again.")
        }
    }
}
