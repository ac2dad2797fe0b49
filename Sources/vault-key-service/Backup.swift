internal import ArgumentParser
internal import KeyServiceServer

struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copy the database into a new file, also while the service runs.",
        discussion: """
            The copy is of no use without the master key, which is not in it. To restore it: stop the service, remove \
            keys.sqlite, keys.sqlite-wal and keys.sqlite-shm from the data folder, and copy the file there as \
            keys.sqlite. That also restores the guess counters of that moment.
            """)

    @OptionGroup var common: CommonOptions

    @Option(help: ArgumentHelp("The file to make.", valueName: "file"))
    var to: String

    func run() async throws {
        try await Failure.reporting {
            try await Settings(common).folder().openStore().backUp(to: to)
        }
    }
}
