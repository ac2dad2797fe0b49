internal import ArgumentParser
internal import KeyServiceServer

struct Initialize: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Make a data folder with a new master key and an empty database.",
        discussion: "Existing files stay unchanged. Keep a copy of the master key, apart from backups of the database.")

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await Failure.reporting {
            let folder = try await Settings(common).folder()
            try folder.create()
            Output.result("Made \(folder.path) with the master key \(folder.masterKeyPath).")
        }
    }
}
