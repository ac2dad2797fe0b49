internal import CredentialVault
internal import Foundation

/// The setting `credential.https://HOST.helper` in git's global configuration.
enum GitSetting {
    /// An empty value, which makes git forget the helpers for all servers. One of them might store the token
    /// unencrypted.
    private static let reset = ""

    static func install(_ setting: HelperSetting) throws -> HelperReport {
        var report = HelperReport()
        for host in setting.hosts {
            let command = "!" + setting.words("git", [host]).map(ShellQuoting.quoted).joined(separator: " ")
            let present = try values(host)
            guard present.suffix(2) != [reset, command] || present.count(where: { isOurs($0, host) }) != 1 else {
                continue
            }
            try remove(host)
            let others = try values(host)
            for value in [reset, command] { try git(["--add", key(host), value]) }
            report.changes.append("git gets the token for \(host.url) from vault.")
            if !others.isEmpty {
                report.advice.append("git does not use its other helper for \(host.url) any more: \(others[0])")
            }
        }
        return report
    }

    static func uninstall(_ hosts: [HelperHost]) throws -> HelperReport {
        var report = HelperReport()
        for host in hosts where try remove(host) {
            report.changes.append("git does not ask vault for \(host.url) any more.")
        }
        return report
    }

    /// Returns the servers for which git asks vault for a token of an account, quoted for the shell, as
    /// `vault helper uninstall git --host` takes them. Empty if git or its configuration cannot be read.
    ///
    /// - Parameters:
    ///   - names: the names that mean only this account, for `--user`.
    ///   - namesAtIssuer: the names that mean only this account of `issuer`, for `--user` with `--issuer`.
    static func hosts(ofUsers names: Set<String>, or namesAtIssuer: Set<String>, at issuer: String) -> [String] {
        let search = ["config", "--global", "--null", "--get-regexp", #"^credential\..*\.helper$"#]
        guard let git = try? program(), let (status, output) = try? ChildProgram.run(git, search, isQuiet: true),
            status == 0
        else { return [] }
        let endings =
            names.map { ShellQuoting.quoted($0) }
            + namesAtIssuer.map { "\(ShellQuoting.quoted($0)) --issuer \(ShellQuoting.quoted(issuer))" }
        var hosts: [String] = []
        for entry in output.split(separator: 0) {
            // The name of the setting, a newline, and the value.
            let value = String(decoding: entry, as: UTF8.self).drop { $0 != "\n" }.dropFirst()
            guard value.hasPrefix("!"), let start = value.firstRange(of: " helper git --host "),
                let middle = value[start.upperBound...].firstRange(of: " --user "),
                endings.contains(String(value[middle.upperBound...]))
            else { continue }
            let host = String(value[start.upperBound..<middle.lowerBound])
            if !hosts.contains(host) { hosts.append(host) }
        }
        return hosts
    }

    private static func key(_ host: HelperHost) -> String { "credential.\(host.url).helper" }

    /// Removes the helper of this program and the reset before it.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    private static func remove(_ host: HelperHost) throws -> Bool {
        let all = try values(host)
        var rest = all
        while let index = rest.firstIndex(where: { isOurs($0, host) }) {
            rest.remove(at: index)
            if index > 0, rest[index - 1] == reset { rest.remove(at: index - 1) }
        }
        guard rest != all else { return false }
        if rest.isEmpty {
            try git(["--unset-all", key(host)])
            try removeEmptySection(host)
        } else if all.count(where: { $0 == reset }) - rest.count(where: { $0 == reset }) == 0 || !rest.contains(reset) {
            // One line at a time, so that comments and the order of the other lines stay.
            for value in Set(all).subtracting(rest) { try git(["--fixed-value", "--unset-all", key(host), value]) }
        } else {
            // git cannot remove only one of several resets.
            try git(["--unset-all", key(host)])
            for value in rest { try git(["--add", key(host), value]) }
        }
        return true
    }

    /// Removes the section if it is empty. git leaves an empty section if a comment stands beside it.
    private static func removeEmptySection(_ host: HelperHost) throws {
        let section = "credential.\(host.url)"
        let pattern = "^\(NSRegularExpression.escapedPattern(for: section))\\."
        let (status, _) = try ChildProgram.run(program(), ["config", "--global", "--get-regexp", pattern])
        guard status == 1 else { return }
        _ = try ChildProgram.run(program(), ["config", "--global", "--remove-section", section], isQuiet: true)
    }

    private static func isOurs(_ value: String, _ host: HelperHost) -> Bool {
        value.hasPrefix("!")
            && value.contains(" helper git --host \(ShellQuoting.quoted(host.defaultValueDescription)) ")
    }

    private static func values(_ host: HelperHost) throws -> [String] {
        let (status, output) = try ChildProgram.run(
            program(), ["config", "--global", "--null", "--get-all", key(host)])
        // Status 1: there is no value.
        guard [0, 1].contains(status) else { throw HelperSetting.failure("git cannot read its configuration.") }
        return output.split(separator: 0, omittingEmptySubsequences: false).dropLast().map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    private static func git(_ arguments: [String]) throws {
        guard try ChildProgram.run(program(), ["config", "--global"] + arguments).status == 0 else {
            throw HelperSetting.failure("git cannot write its configuration. See what git says above.")
        }
    }

    private static func program() throws -> String {
        guard let path = ProgramPath.of("git") else { throw HelperSetting.failure("git is not installed.") }
        return path
    }
}
