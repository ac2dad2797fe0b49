/// The settings that the JSON file and the environment may have.
enum SettingName {
    enum Kind: String {
        case text = "a text"
        case number = "a whole number"
        case flag = "true or false"
        case list = "a list of texts"
    }

    /// Each setting with its type, in the order of the help.
    static let all: [(name: String, kind: Kind)] = [
        ("data", .text), ("databaseUrl", .text), ("allowAsynchronousStandby", .flag), ("listen", .text),
        ("basePath", .text), ("maxGuesses", .number), ("maxGuessesTotal", .number),
        ("masterKeyFile", .text), ("oldMasterKeyFile", .list), ("highWaterMark", .text), ("logLevel", .text),
        ("insecureAllowRemoteHttp", .flag), ("trustedProxy", .list), ("maxConnections", .number),
        ("maxConnectionsPerAddress", .number), ("createsPerHour", .number), ("createsPerHourTotal", .number),
        ("refusalsPerMinute", .number), ("destroyAfter", .number), ("healthListen", .text),
        ("drainDelay", .number), ("tlsCertificate", .text), ("tlsKey", .text), ("tlsMinimum", .text),
        ("tlsClientCa", .text), ("ownerIssuer", .list), ("ownerAudience", .text),
        ("publicUrl", .text), ("ownerClientId", .text), ("ownerClientSecretFile", .text), ("keepUnclaimedKeys", .flag),
        ("ownerUnlock", .flag),
        ("auditLog", .text), ("auditRequired", .flag), ("instance", .text),
    ]

    /// The names, for the help.
    static var list: String { all.map(\.name).joined(separator: ", ") }

    /// Returns the environment variable of a setting: `VAULT_KEY_SERVICE_MAX_GUESSES` for `maxGuesses`.
    static func variable(of name: String) -> String {
        "VAULT_KEY_SERVICE_" + words(name, separator: "_").uppercased()
    }

    /// Returns the option of a setting: `--max-guesses` for `maxGuesses`.
    static func option(of name: String) -> String {
        "--" + words(name, separator: "-").lowercased()
    }

    private static func words(_ name: String, separator: String) -> String {
        name.reduce(into: "") { words, letter in
            if letter.isUppercase { words += separator }
            words.append(letter)
        }
    }
}
