internal import ArgumentParser

extension AgentCommand {
    struct Install: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "install",
            abstract: "Write systemd user units. systemd then starts the agent when a program needs it.")

        @OptionGroup var global: GlobalOptions

        func run() async throws {
            let paths = try AgentUnits(try await Settings(global), global).install()
            if global.json { return Output.json(["written": paths]) }
            for path in paths { Output.line("Wrote \(Printable.text(path)).") }
            Output.note("vault: To use the units, type:")
            Output.note(
                "vault agent stop && systemctl --user daemon-reload && systemctl --user enable --now \(AgentUnits.name).socket"
            )
        }
    }

    struct Uninstall: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "uninstall", abstract: "Remove the systemd user units.")

        @OptionGroup var global: GlobalOptions

        func run() async throws {
            let paths = try AgentUnits(try await Settings(global), global).uninstall()
            if global.json { return Output.json(["removed": paths]) }
            guard !paths.isEmpty else { return Output.line("There were no units.") }
            for path in paths { Output.line("Removed \(Printable.text(path)).") }
            let units = "\(AgentUnits.name).socket \(AgentUnits.name).service"
            Output.note("vault: To end the agent and make systemd forget the units, type:")
            // In the other order, systemd would warn that the files have changed.
            Output.note("systemctl --user daemon-reload && systemctl --user stop \(units)")
        }
    }
}
