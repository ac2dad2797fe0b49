internal import CredentialVault

/// New settings for the person's file, and the older ones that make no sense beside them.
struct SettingsChange {
    /// The settings to write; nil to remove one. An empty value hides that of the machine.
    let values: [Settings.Name: String?]

    /// The settings that belong to one issuer. A secret, for example, must not reach another one.
    private static let ofIssuer: [Settings.Name] = [
        .clientID, .clientSecretFile, .scopes, .redirectURI, .prompt, .acrValues, .audience, .parameters, .method,
        .backendFile,
    ]
    /// The settings that belong to one key service.
    private static let ofKeyService: [Settings.Name] = [.keyServiceKeys, .keyServiceAudience, .keyServiceProtocol]
    /// The settings that belong to one key of an organisation.
    private static let ofSettingsKey: [Settings.Name] = [.settingsSignedAt]

    /// - Parameter new: the settings that will be in force, as the file has them.
    /// - Throws: `VaultError` with code `configurationInvalid` if a file of settings cannot be read.
    init(to new: [Settings.Name: String]) throws {
        self.init(to: new, over: try Settings.stored(), machine: try Settings.ofMachine())
    }

    /// - Parameters:
    ///   - new: the settings that will be in force, as the file has them.
    ///   - old: the settings of the person's file.
    ///   - machine: the settings of the machine's file. They are not copied, so that the administrator can change them.
    init(to new: [Settings.Name: String], over old: [Settings.Name: String], machine: [Settings.Name: String]) {
        var values: [Settings.Name: String?] = [:]
        for (name, value) in new {
            if old[name] == nil && machine[name] == value || old[name] == value { continue }
            values.updateValue(machine[name] == value ? nil : value, forKey: name)
        }
        let groups = [
            (Settings.Name.issuer, Self.ofIssuer), (.keyService, Self.ofKeyService), (.settingsKey, Self.ofSettingsKey),
        ]
        for (server, others) in groups {
            let before = old[server] ?? machine[server]
            guard let after = new[server], before != after else { continue }
            // Without an issuer or a key beside it, nobody knows to which one a secret or a time belongs.
            let isUnknown = [Settings.Name.clientSecretFile, .settingsSignedAt]
            for name in others where new[name] == nil && (before != nil || isUnknown.contains(name)) {
                if machine[name] != nil && machine[server] != after {
                    values.updateValue("", forKey: name)
                } else if old[name] != nil {
                    values.updateValue(nil, forKey: name)
                }
            }
        }
        self.values = values
    }

    /// The settings of a file that hide those of the machine, because they belonged to another server than the one
    /// that a setting names. After a change of this setting they would hide the wrong ones.
    static func hiding(beside name: Settings.Name, in old: [Settings.Name: String]) -> [Settings.Name] {
        let others: [Settings.Name] =
            switch name {
            case .issuer: ofIssuer
            case .keyService: ofKeyService
            case .settingsKey: ofSettingsKey
            default: []
            }
        return others.filter { old[$0] == "" }
    }

    /// Writes the settings, all or none, and tells the person.
    ///
    /// - Throws: `VaultError` with code `configurationInvalid` if the file cannot be read or written.
    func save(isQuiet: Bool) async throws {
        guard !values.isEmpty else { return }
        try Settings.write(values)
        guard !isQuiet else { return }
        let changed = Settings.Name.allCases.compactMap { name in values[name].map { (name: name, value: $0) } }
        for (verb, names) in [
            ("Saved", changed.filter { $0.value?.isEmpty == false }),
            ("Removed", changed.filter { $0.value?.isEmpty != false }),
        ] where !names.isEmpty {
            let listed = names.map { $0.name.rawValue }.listed("and")
            Output.note("\(verb) the \(names.count == 1 ? "setting" : "settings") \(listed).")
        }
        let settings = try await Settings()
        for (name, value) in changed
        where settings.origin(of: name) == .environment && settings[name] != value {
            Output.note("vault: \(name.variable) in the environment overrides the saved \(name.rawValue).")
        }
    }
}
