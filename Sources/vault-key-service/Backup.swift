internal import ArgumentParser
internal import KeyServiceServer

struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copy the database into a new file, also while the service runs.",
        discussion: """
              vault-key-service backup --data /srv/keys --to keys-backup.sqlite

            The copy does not hold the master key, and has no use without it. To restore the copy:

              1. Stop the service.
              2. In the data folder, remove keys.sqlite, keys.sqlite-wal, keys.sqlite-shm.
              3. Copy the file into the data folder as keys.sqlite.

            The guess counters are then those of the backup.
            """)

    @OptionGroup var common: CommonOptions

    @Option(help: ArgumentHelp("The file to write.", valueName: "file"))
    var to: String

    func run() async throws {
        try await Failure.reporting {
            try await Settings(common).folder().openStore().backUp(to: to)
        }
    }
}
