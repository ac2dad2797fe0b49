internal import CredentialVault
internal import Foundation

/// The setting `credHelpers` in docker's configuration, and a script for each registry. docker finds a script by its
/// name.
enum DockerSetting {
    private static let member = "credHelpers"
    private static let remark = "# Made by \"vault helper install docker\"."

    static func install(_ setting: HelperSetting) throws -> HelperReport {
        var report = HelperReport()
        var configuration = try read()
        var helpers = configuration[member] as? [String: Any] ?? [:]
        for host in setting.hosts {
            if let other = helpers[host.authority] as? String, other != name(host) {
                throw HelperSetting.failure(
                    "docker already uses another helper for \(host.authority): \(other). Remove that helper from \(path) first."
                )
            }
        }
        try make(folder)
        for host in setting.hosts {
            let words = setting.words("docker", [host]).map(ShellQuoting.quoted).joined(separator: " ")
            let text = "#!/bin/sh\n\(remark)\nexec \(words) \"$@\"\n"
            let old = FileManager.default.contents(atPath: script(host)).map { String(decoding: $0, as: UTF8.self) }
            guard old != text || helpers[host.authority] == nil else { continue }
            guard old.map(isOurs) ?? true else {
                throw HelperSetting.failure("vault did not make the file \(script(host)). Move it, then try again.")
            }
            guard ReplacedFile.write(Array(text.utf8), to: script(host), suffix: "new", mode: 0o755) else {
                throw HelperSetting.failure("\(script(host)) cannot be written.")
            }
            helpers[host.authority] = name(host)
            report.changes.append("docker gets the token for \(host.authority) from vault.")
        }
        configuration[member] = helpers
        if !report.changes.isEmpty { try write(configuration) }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        if !folders.contains(folder) {
            report.advice.append("docker looks for helpers in PATH. Add \(folder) to PATH.")
        }
        return report
    }

    static func uninstall(_ hosts: [HelperHost]) throws -> HelperReport {
        var report = HelperReport()
        var configuration = try read()
        var helpers = configuration[member] as? [String: Any] ?? [:]
        for host in hosts where helpers[host.authority] as? String == name(host) {
            helpers[host.authority] = nil
            report.changes.append("docker does not ask vault for \(host.authority) any more.")
        }
        configuration[member] = helpers.isEmpty ? nil : helpers
        if !report.changes.isEmpty { try write(configuration) }
        for host in hosts {
            let text = FileManager.default.contents(atPath: script(host)).map { String(decoding: $0, as: UTF8.self) }
            guard let text, isOurs(text) else { continue }
            unlink(script(host))
            if report.changes.isEmpty { report.changes.append("Removed \(script(host)).") }
        }
        return report
    }

    /// The name of the helper. docker puts `docker-credential-` before it.
    private static func name(_ host: HelperHost) -> String { "vault-\(host.authority)" }

    private static var folder: String { "\(Vault.homeFolder)/.local/bin" }

    private static func script(_ host: HelperHost) -> String { "\(folder)/docker-credential-\(name(host))" }

    private static func isOurs(_ script: String) -> Bool { script.contains("\n\(remark)\n") }

    private static var path: String {
        let environment = ProcessInfo.processInfo.environment["DOCKER_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
        return "\(environment ?? "\(Vault.homeFolder)/.docker")/config.json"
    }

    private static func make(_ folder: String) throws {
        guard
            (try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)) != nil
        else { throw HelperSetting.failure("The folder \(folder) cannot be made.") }
    }

    private static func read() throws -> [String: Any] {
        guard FileManager.default.fileExists(atPath: path) else { return [:] }
        guard let data = FileManager.default.contents(atPath: path),
            let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any],
            object[member].map({ $0 is [String: Any] }) ?? true
        else { throw HelperSetting.failure("docker's configuration \(path) is not readable JSON.") }
        return object
    }

    private static func write(_ configuration: [String: Any]) throws {
        try make((path as NSString).deletingLastPathComponent)
        let data = try? JSONSerialization.data(
            withJSONObject: configuration, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
        // The file may hold passwords of other registries.
        guard let data, ReplacedFile.write(Array(data) + [UInt8(ascii: "\n")], to: path, suffix: "vault", mode: 0o600)
        else { throw HelperSetting.failure("docker's configuration \(path) cannot be written.") }
    }
}
