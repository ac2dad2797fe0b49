internal import CredentialVault
internal import Foundation

// The configuration file of the person.
extension Settings {
    /// `$XDG_CONFIG_HOME/credential-vault/config.json`, by default below `~/.config`.
    static var path: String {
        let base = getenv("XDG_CONFIG_HOME").map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
        return (base ?? Vault.homeFolder + "/.config") + "/credential-vault/config.json"
    }

    /// The value of a setting in the file; nil if the file does not have it.
    static func stored(_ name: Name) throws -> String? { try fileContent()[name.rawValue] as? String }

    /// All settings in the file that this program knows.
    static func stored() throws -> [Name: String] {
        let content = try fileContent()
        let known = Name.allCases.compactMap { name in (content[name.rawValue] as? String).map { (name, $0) } }
        return Dictionary(uniqueKeysWithValues: known)
    }

    /// The settings of the file; none if there is no file.
    private static func fileContent() throws -> [String: Any] {
        guard FileManager.default.fileExists(atPath: path) else { return [:] }
        guard let data = FileManager.default.contents(atPath: path),
            let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any]
        else { throw VaultError(.configurationInvalid, "The settings file \(path) is not readable JSON.") }
        return object
    }

    /// Writes settings to the file at once, and removes those without a value. Others in the file stay as they are.
    static func write(_ changes: [Name: String?]) throws {
        var content = try fileContent()
        for (name, value) in changes { content[name.rawValue] = value }
        do {
            let folder = (path as NSString).deletingLastPathComponent
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let data = try JSONSerialization.data(
                withJSONObject: content, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
            try (data + Data("\n".utf8)).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw VaultError(
                .configurationInvalid, "The settings file \(path) cannot be written.", underlying: error)
        }
    }
}
