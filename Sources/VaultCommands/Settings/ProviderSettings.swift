internal import CredentialVault

/// `vault register URL`: the issuer, and the options about the provider. They become settings, so that the next
/// `vault register` needs none of them.
struct ProviderSettings {
    private let values: [Settings.Name: String]

    /// - Parameters:
    ///   - issuer: the issuer that the person typed.
    ///   - options: the values of the options, by their settings; nil for an option that is not given.
    /// - Throws: `VaultError` with code `configurationInvalid` if a value cannot be a setting, or if the file has
    ///   another issuer already. Its other settings may be only for that one.
    init(issuer: String, options: [Settings.Name: String?]) throws {
        var given = options.compactMapValues { $0 }.filter { !$0.value.isEmpty }
        given[.issuer] = issuer
        for (name, value) in given { try name.validate(value) }
        if let other = try Settings.stored(.issuer), other != issuer {
            let url = ShellQuoting.quoted(issuer)
            throw VaultError(
                .configurationInvalid,
                "The setting issuer is \(Printable.text(other)). To replace it: vault config set issuer \(url). To keep it, and register at the other address: vault register --issuer \(url)"
            )
        }
        var values: [Settings.Name: String] = [:]
        for (name, value) in given { values[name] = try name.stored(value) }
        self.values = values
    }

    /// Writes the settings that the file does not have yet, and tells the person.
    ///
    /// - Throws: `VaultError` with code `configurationInvalid` if the file cannot be read or written.
    func store(isQuiet: Bool) async throws { try await SettingsChange(to: values).save(isQuiet: isQuiet) }
}
