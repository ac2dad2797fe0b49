internal import ArgumentParser
internal import KeyServiceCore
internal import KeyServiceSQLite

struct Initialize: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Make a data folder with a new master key and an empty database.",
        discussion: """
              vault-key-service init --data /srv/keys
              vault-key-service init --data /srv/keys --database-url postgresql://vault@db1,db2/vault

            Existing files stay unchanged. Keep a copy of the master key, apart from backups of the database.

            On a second machine for the same PostgreSQL database, first copy the master key there. Then name its file:

              vault-key-service init --data /srv/keys --database-url URL --master-key-file FILE
            """)

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await Failure.reporting {
            let settings = try Settings(common)
            let folder = try settings.folder()
            if let store = try await settings.sharedStore(common, for: .create) {
                defer { store.close() }
                let isNew = try await folder.create(
                    in: store, mayUseKey: settings.names(common.masterKeyFile, "masterKeyFile"))
                Output.result(
                    isNew
                        ? "Made the database with the master key \(folder.masterKeyPath)."
                        : "The service on this machine can use the database now.")
                return tellNext()
            }
            try await folder.create(mayUseKey: settings.names(common.masterKeyFile, "masterKeyFile"))
            Output.result("Made \(folder.path) with the master key \(folder.masterKeyPath).")
            tellNext()
        }
    }

    /// Says how to start the service. Without options, the settings of a unit say where the folder is, and systemd
    /// starts the service.
    private func tellNext() {
        guard let data = common.data else { return }
        let database = common.databaseUrl == nil ? "" : " --database-url URL"
        let masterKey = common.masterKeyFile.map { " --master-key-file \($0)" } ?? ""
        Output.result("Next: vault-key-service serve --data \(data)\(database)\(masterKey)")
    }
}
