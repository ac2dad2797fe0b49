internal import ArgumentParser
internal import Foundation
internal import KeyServiceSQLite
internal import VaultBase

/// The options that every subcommand has.
struct CommonOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The data folder.", valueName: "dir"))
    var data: String?

    @Option(
        help: ArgumentHelp(
            "The PostgreSQL database for the keys, without a password: postgresql://USER@HOST,HOST/DATABASE "
                + "(default: a SQLite database in the data folder)", valueName: "url"))
    var databaseUrl: String?

    @Option(help: ArgumentHelp("A JSON file with settings.", valueName: "file"))
    var config: String?

    @Option(
        help: ArgumentHelp(
            "The master key file. (default: $CREDENTIALS_DIRECTORY/master.key if systemd provides it, else "
                + "master.key in the folder DIR-secrets beside the data folder)", valueName: "file"))
    var masterKeyFile: String?

    @Option(
        help: ArgumentHelp(
            """
            An older master key that some keys still need. Can be given several times. (default: \
            $CREDENTIALS_DIRECTORY/old-master.key)
            """, valueName: "file"))
    var oldMasterKeyFile: [String] = []

    @Option(
        help: ArgumentHelp(
            "The file that shows if the database is an older one. (default: high-water-mark in the folder DIR-secrets)",
            valueName: "file"))
    var highWaterMark: String?
}

/// The settings from options, environment and file, in this order.
struct Settings {
    private let common: CommonOptions
    private let file: SettingsFile
    private let environment: [String: String]

    /// - Throws: a ``Failure`` that names a setting of the file that is unknown or of the wrong type.
    init(_ common: CommonOptions) throws {
        self.common = common
        environment = ProcessInfo.processInfo.environment
        let path = common.config ?? environment[SettingName.variable(of: "config")]
        file = try path.map { try SettingsFile(path: $0) } ?? SettingsFile()
    }

    func string(_ option: String?, _ name: String) -> String? {
        option ?? variable(name) ?? file[name]?.string
    }

    func names(_ option: String?, _ name: String) -> Bool {
        string(option, name) != nil
    }

    func flag(_ option: Bool, _ name: String) throws -> Bool {
        if option { return true }
        guard let text = variable(name) else { return file[name]?.bool ?? false }
        switch text.lowercased() {
        case "true", "yes", "1": return true
        case "false", "no", "0": return false
        default: throw wrongVariable(name, expected: "true or false")
        }
    }

    func number(_ option: Int?, _ name: String) throws -> Int? {
        if let option { return option }
        guard let text = variable(name) else { return file[name]?.exactInteger.flatMap { Int($0) } }
        guard let number = Int(text) else { throw wrongVariable(name, expected: "a number") }
        return number
    }

    /// Returns the values of a setting that can be given several times. In the environment, commas separate them.
    func list(_ option: [String], _ name: String) -> [String] {
        if !option.isEmpty { return option }
        if let text = variable(name) {
            return text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        return file[name]?.strings ?? file[name]?.string.map { [$0] } ?? []
    }

    /// A variable that is empty counts as missing.
    private func variable(_ name: String) -> String? {
        environment[SettingName.variable(of: name)].flatMap { $0.isEmpty ? nil : $0 }
    }

    private func wrongVariable(_ name: String, expected: String) -> Failure {
        .configuration("The setting \(name) is not \(expected). Change \(SettingName.variable(of: name)).")
    }

    /// The data folder, with the path of the master key.
    func folder() throws -> KeyServiceFolder {
        guard let data = string(common.data, "data") else {
            throw Failure.configuration("No data folder is given. Use --data DIR.")
        }
        let masterKeyFile = string(common.masterKeyFile, "masterKeyFile")
        let credentials = environment["CREDENTIALS_DIRECTORY"].flatMap { directory in
            masterKeyFile == nil && FileManager.default.fileExists(atPath: directory + "/master.key")
                ? directory : nil
        }
        return KeyServiceFolder(
            path: data, masterKeyFile: masterKeyFile,
            oldMasterKeyFiles: list(common.oldMasterKeyFile, "oldMasterKeyFile"),
            highWaterMarkFile: string(common.highWaterMark, "highWaterMark"), credentialsDirectory: credentials)
    }
}
