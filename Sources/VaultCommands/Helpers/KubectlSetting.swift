internal import CredentialVault
internal import Foundation

/// A user in the configuration of kubectl. This user gets its token from the helper.
enum KubectlSetting {
    private static let version = "client.authentication.k8s.io/v1"

    static func install(_ setting: HelperSetting, name: String) throws -> HelperReport {
        let user = user(name)
        var report = HelperReport()
        let arguments = Array(setting.words("kubectl", setting.hosts).dropFirst())
        guard let kubectl = ProgramPath.of("kubectl") else {
            report.advice.append(
                "kubectl is not installed. Add this to ~/.kube/config yourself:\n"
                    + yaml(user, setting.program, arguments, tellsServer: !setting.hosts.isEmpty))
            return report
        }
        let old = try exec(of: user, kubectl)
        guard old.map(isOurs) ?? true else {
            throw HelperSetting.failure(
                "vault did not make the user \(user) of kubectl. Remove it: kubectl config delete-user \(user)")
        }
        let new = Exec(
            command: setting.program, args: arguments, apiVersion: version, interactiveMode: "IfAvailable",
            provideClusterInfo: !setting.hosts.isEmpty)
        if old != new {
            var words = [
                "set-credentials", user, "--exec-api-version=\(version)", "--exec-command=\(setting.program)",
                "--exec-interactive-mode=IfAvailable", "--exec-provide-cluster-info=\(!setting.hosts.isEmpty)",
            ]
            words += arguments.map { "--exec-arg=\($0)" }
            try run(kubectl, words)
            report.changes.append("kubectl has the user \(user) now. This user gets its token from vault.")
        }
        report.advice.append(
            "To use it: kubectl config set-context --current --user=\(ShellQuoting.quoted(user))")
        return report
    }

    static func uninstall(name: String) throws -> HelperReport {
        let user = user(name)
        var report = HelperReport()
        guard let kubectl = ProgramPath.of("kubectl") else {
            throw HelperSetting.failure(
                "kubectl is not installed. Remove the user \(user) from ~/.kube/config yourself.")
        }
        guard let old = try exec(of: user, kubectl), isOurs(old) else { return report }
        try run(kubectl, ["delete-user", user])
        report.changes.append("kubectl has no user \(user) any more.")
        return report
    }

    private static func user(_ name: String) -> String { "vault-\(name)" }

    // MARK: - kubectl

    /// The part of a user that names a helper.
    private struct Exec: Decodable, Equatable {
        var command: String?
        var args: [String]?
        var apiVersion: String?
        var interactiveMode: String?
        var provideClusterInfo: Bool?
    }

    private struct Configuration: Decodable {
        struct Named: Decodable {
            struct User: Decodable { var exec: Exec? }
            let name: String
            var user: User?
        }
        var users: [Named]?
    }

    private static func isOurs(_ exec: Exec) -> Bool { exec.args?.starts(with: ["helper", "kubectl"]) ?? false }

    /// - Returns: nil if there is no such user. For a user without a helper, all members are nil.
    private static func exec(of user: String, _ kubectl: String) throws -> Exec? {
        let (status, output) = try ChildProgram.run(kubectl, ["config", "view", "-o", "json"])
        guard status == 0, let configuration = try? JSONDecoder().decode(Configuration.self, from: Data(output)) else {
            throw HelperSetting.failure("kubectl cannot read its configuration.")
        }
        return (configuration.users ?? []).first { $0.name == user }.map { $0.user?.exec ?? Exec() }
    }

    private static func run(_ kubectl: String, _ arguments: [String]) throws {
        guard try ChildProgram.run(kubectl, ["config"] + arguments).status == 0 else {
            throw HelperSetting.failure("kubectl cannot write its configuration. See what kubectl says above.")
        }
    }

    private static func yaml(_ user: String, _ command: String, _ arguments: [String], tellsServer: Bool) -> String {
        let lines =
            [
                "users:", "- name: \(quoted(user))", "  user:", "    exec:", "      apiVersion: \(version)",
                "      command: \(quoted(command))", "      args:",
            ]
            + arguments.map { "      - \(quoted($0))" } + [
                "      interactiveMode: IfAvailable", "      provideClusterInfo: \(tellsServer)",
            ]
        return lines.joined(separator: "\n")
    }

    /// A word in quotation marks for YAML.
    private static func quoted(_ word: String) -> String { "'" + word.replacing("'", with: "''") + "'" }
}
