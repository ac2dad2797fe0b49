internal import CredentialVault
internal import Foundation

/// The helper command that another program runs.
struct HelperSetting {
    /// The path of vault.
    let program: String
    /// The options that choose the account.
    let options: [String]
    let hosts: [HelperHost]

    /// The path that vault was called by. If it is a link, it stays valid after an update of the program.
    static func vault() throws -> String {
        let name = CommandLine.arguments.first ?? "vault"
        if let path = ProgramPath.of(name) { return URL(fileURLWithPath: path).standardizedFileURL.path }
        return try ProgramPath.own
    }

    /// The words of the helper's command line, without what the tool adds.
    func words(_ tool: String, _ hosts: [HelperHost]) -> [String] {
        [program, "helper", tool] + hosts.flatMap { ["--host", $0.defaultValueDescription] } + options
    }

    static func failure(_ text: String) -> VaultError { VaultError(.configurationInvalid, text) }
}

/// The changes that were made, and the steps that remain.
struct HelperReport: Encodable {
    /// One line for each change; empty if no change was needed.
    var changes: [String] = []
    var advice: [String] = []

    func show(isJSON: Bool) {
        if isJSON { return Output.json(self) }
        for line in changes { Output.line(line) }
        if changes.isEmpty { Output.line("Nothing needed to be changed.") }
        for line in advice { Output.note("vault: \(line)") }
    }
}
