internal import ArgumentParser
internal import Foundation

struct DoctorCommand: AsyncParsableCommand, JSONCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check the store, the libraries, the machine and the services.",
        discussion: """
            If all is well, vault prints one line, and below it its recommendations, if there are any. To see each \
            check: vault doctor --verbose. Each failure and each warning comes with advice. The exit status is 0 if \
            nothing failed.
            """)

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let settings = try await Settings(global)
        let checks = try await MachineChecks.all() + ServiceChecks(settings: settings).all()
        if global.json {
            Output.json(checks)
        } else if !global.verbose && checks.allSatisfy({ $0.outcome == .ok }) {
            let text = "All \(checks.count) checks passed. To see them: vault doctor --verbose"
            Output.good(LabelledText(label: "ok", text: text, width: 5))
            Output.lines(checks.filter { $0.advice != nil }.flatMap(Self.texts))
        } else {
            Output.lines(checks.flatMap(Self.texts))
        }
        if checks.contains(where: { $0.outcome == .fail }) { throw ExitCode(ExitStatus.other) }
    }

    /// What was found, and the advice below it.
    private static func texts(_ check: Check) -> [LabelledText] {
        let label = check.outcome.rawValue.padded(to: 5) + check.name.padded(to: 18)
        let finding = LabelledText(label: label, text: Printable.text(check.finding), width: label.count)
        guard let advice = check.advice else { return [finding] }
        let arrow = String(repeating: " ", count: label.count) + (Charset.isUTF8 ? "→ " : "-> ")
        return [finding, LabelledText(label: arrow, text: Printable.text(advice), width: arrow.count)]
    }
}
