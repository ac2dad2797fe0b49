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
                + "master.key in the data folder)", valueName: "file"))
    var masterKeyFile: String?
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

    func flag(_ option: Bool, _ key: ConfigKey) throws -> Bool {
        if option { return true }
        if let value = reader.bool(forKey: key) { return value }
        try refuseOtherType(key, expected: "true or false")
        return false
    }

    func number(_ option: Int?, _ key: ConfigKey, default standard: Int) throws -> Int {
        if let value = option ?? reader.int(forKey: key) { return value }
        try refuseOtherType(key, expected: "a number")
        return standard
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
        if let file = string(common.masterKeyFile, "masterKeyFile") {
            return KeyServiceFolder(path: data, masterKeyFile: file)
        }
        if let credentials = ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"],
            FileManager.default.fileExists(atPath: credentials + "/master.key")
        {
            return KeyServiceFolder(path: data, credentialsDirectory: credentials)
        }
        return KeyServiceFolder(path: data)
    }
}
