internal import CredentialVault

// The settings that an administrator gives to all users of the machine. Those of a person win over them.
extension Settings {
    /// The file of the machine. It has the same form as the file of a person.
    static let machineFile = "/etc/credential-vault/config.json"

    /// The settings of the machine; none if there is no file.
    ///
    /// - Throws: `VaultError` with code `configurationInvalid` if users other than root can change the file, or if it
    ///   has something that this program does not know.
    static func ofMachine() throws -> [Name: String] {
        let file = MachineFile(path: machineFile, kind: "settings file")
        guard let bytes = try file.read() else { return [:] }
        let values = try values(json: bytes) { file.unusable($0) }
        for (name, value) in values where try !name.namesFilesAbsolutely(value) {
            // Otherwise the file would be another one in each folder, also in one that somebody prepared.
            throw file.unusable("\(name.rawValue) has to be an absolute path.")
        }
        return values
    }

    /// Reads a JSON object of settings that another person wrote. A name that this program does not know is an error,
    /// because the writer relies on it.
    ///
    /// - Parameters:
    ///   - json: the content of the file.
    ///   - unusable: makes the error, with the file's name.
    static func values(json: [UInt8], unusable: (_ reason: String) -> VaultError) throws -> [Name: String] {
        guard case .object(let members)? = JSONValue(strictObjectIn: json) else {
            throw unusable("It is not one JSON object, or it has a name twice.")
        }
        var values: [Name: String] = [:]
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            guard let setting = Name(rawValue: name) else {
                throw unusable("This program does not know the setting \(name.debugDescription).")
            }
            guard let text = value.string, Printable.text(text) == text else {
                throw unusable("\(name) has to be a text in quotes.")
            }
            values[setting] = text.isEmpty ? nil : text
        }
        return values
    }
}

extension Settings.Name {
    /// Whether all paths of files and folders in a value are absolute.
    fileprivate func namesFilesAbsolutely(_ value: String) throws -> Bool {
        switch self {
        case .home, .backendFile: value.hasPrefix("/")
        // A name without a slash is looked for in the PATH.
        case .pinentry: value.hasPrefix("/") || !value.contains("/")
        case .pkcs11:
            !value.contains("module-path=") || value.contains("module-path=/")
                || value.lowercased().contains("module-path=%2f")
        default: try stored(value) == value
        }
    }
}
