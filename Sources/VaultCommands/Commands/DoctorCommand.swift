internal import ArgumentParser
internal import Foundation

struct DoctorCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check the store, the libraries, the machine and the services.",
        discussion: "Each failure and each warning comes with advice. The exit status is 0 if nothing failed.")

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let settings = try await Settings(global)
        let checks = try await MachineChecks.all() + ServiceChecks(settings: settings).all()
        if global.json {
            Output.json(checks)
        } else {
            for check in checks {
                Output.line(
                    "\(check.outcome.rawValue.padded(to: 5))\(check.name.padded(to: 18))\(Printable.text(check.finding))"
                )
                if let advice = check.advice { Output.line(String(repeating: " ", count: 23) + "→ " + advice) }
            }
        }
        if checks.contains(where: { $0.outcome == .fail }) { throw ExitCode(ExitStatus.other) }
    }
}
