internal import CredentialVault
internal import Foundation

/// What another program is told to run.
struct HelperSetting {
    /// The path of vault.
    let program: String
    /// Which account, as options.
    let options: [String]
    let hosts: [HelperHost]

    /// The path of vault, as it was called: a link stays valid when a new version takes the program's place.
    static func vault() throws -> String {
        let name = CommandLine.arguments.first ?? "vault"
        if let path = ProgramPath.of(name) { return URL(fileURLWithPath: path).standardizedFileURL.path }
        return try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }

    /// The words of the helper's command line, without what the tool adds.
    func words(_ tool: String, _ hosts: [HelperHost]) -> [String] {
        [program, "helper", tool] + hosts.flatMap { ["--host", $0.defaultValueDescription] } + options
    }

    static func failure(_ text: String) -> VaultError { VaultError(.configurationInvalid, text) }
}

/// What was changed, and what is left to do.
struct HelperReport: Encodable {
    /// One line for each change; empty when all was as it should be.
    var changes: [String] = []
    var advice: [String] = []

    func show(isJSON: Bool) {
        if isJSON { return Output.json(self) }
        for line in changes { Output.line(line) }
        if changes.isEmpty { Output.line("Nothing needed to be changed.") }
        for line in advice { Output.note("vault: \(line)") }
    }
}
