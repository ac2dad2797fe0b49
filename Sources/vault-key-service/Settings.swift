internal import ArgumentParser
internal import Configuration
internal import Foundation
internal import KeyServiceServer

/// The options that every subcommand has.
struct CommonOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The data folder.", valueName: "dir"))
    var data: String?

    @Option(help: ArgumentHelp("A JSON file with settings.", valueName: "file"))
    var config: String?

    @Option(
        help: ArgumentHelp(
            "The master key file. (default: $CREDENTIALS_DIRECTORY/master.key if systemd provides it, else "
                + "master.key in the folder DIR-secrets beside the data folder)", valueName: "file"))
    var masterKeyFile: String?

    @Option(
        help: ArgumentHelp(
            "The master key before it, while some keys still need it. (default: $CREDENTIALS_DIRECTORY/old-master.key)",
            valueName: "file"))
    var oldMasterKeyFile: String?

    @Option(
        help: ArgumentHelp(
            "The file that shows if an older database was put back. (default: high-water-mark beside the master key)",
            valueName: "file"))
    var highWaterMark: String?
}

/// The settings from options, environment and file, in this order.
struct Settings {
    private let reader: ConfigReader
    private let common: CommonOptions

    init(_ common: CommonOptions) async throws {
        self.common = common
        let environment = EnvironmentVariablesProvider().prefixKeys(with: "vault.key.service")
        var providers: [any ConfigProvider] = [environment]
        let path = common.config ?? ConfigReader(provider: environment).string(forKey: "config")
        if let path {
            do {
                let location = InMemoryProvider(values: ["filePath": ConfigValue(.string(path), isSecret: false)])
                providers.append(try await FileProvider<JSONSnapshot>(config: ConfigReader(provider: location)))
            } catch {
                throw Failure.configuration("The settings in \(path) cannot be read: \(error)")
            }
        }
        reader = ConfigReader(providers: providers)
    }

    func string(_ option: String?, _ key: ConfigKey) -> String? {
        option ?? reader.string(forKey: key)
    }

    /// Whether a setting is given.
    func names(_ option: String?, _ key: ConfigKey) -> Bool {
        string(option, key) != nil
    }

    func flag(_ option: Bool, _ key: ConfigKey) throws -> Bool {
        if option { return true }
        if let value = reader.bool(forKey: key) { return value }
        try refuseOtherType(key, expected: "true or false")
        return false
    }

    func number(_ option: Int?, _ key: ConfigKey) throws -> Int? {
        if let value = option ?? reader.int(forKey: key) { return value }
        try refuseOtherType(key, expected: "a number")
        return nil
    }

    /// Refuses a setting of the wrong type. It must not count as a missing setting.
    private func refuseOtherType(_ key: ConfigKey, expected: String) throws {
        guard reader.string(forKey: key) == nil, reader.bool(forKey: key) == nil, reader.int(forKey: key) == nil else {
            throw Failure.configuration("The setting \(key) is not \(expected).")
        }
    }

    /// The data folder, with the path of the master key.
    func folder() throws -> KeyServiceFolder {
        guard let data = string(common.data, "data") else {
            throw Failure.configuration("No data folder is given. Use --data DIR.")
        }
        let masterKeyFile = string(common.masterKeyFile, "masterKeyFile")
        let environment = ProcessInfo.processInfo.environment
        let credentials = environment["CREDENTIALS_DIRECTORY"].flatMap { directory in
            masterKeyFile == nil && FileManager.default.fileExists(atPath: directory + "/master.key")
                ? directory : nil
        }
        let oldFile = string(common.oldMasterKeyFile, "oldMasterKeyFile")
        return KeyServiceFolder(
            path: data, masterKeyFile: masterKeyFile, oldMasterKeyFiles: oldFile.map { [$0] } ?? [],
            highWaterMarkFile: string(common.highWaterMark, "highWaterMark"), credentialsDirectory: credentials)
    }
}
