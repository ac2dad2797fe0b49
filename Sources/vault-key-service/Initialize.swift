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
            let settings = try Settings(common)
            let folder = try settings.folder()
            try await folder.create(mayUseKey: settings.names(common.masterKeyFile, "masterKeyFile"))
            Output.result("Made \(folder.path) with the master key \(folder.masterKeyPath).")
        }
    }
}
