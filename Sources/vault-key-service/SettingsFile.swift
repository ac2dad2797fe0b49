internal import Foundation
internal import VaultBase

/// The JSON file of `--config`. A wrong setting is refused: the service must not run with a limit that a typing error
/// turned off.
struct SettingsFile {
    private var members: [String: JSONValue] = [:]

    /// Makes a file without settings.
    init() {}

    /// - Throws: a ``Failure`` that names the file, and the setting that is unknown or of the wrong type.
    init(path: String) throws {
        guard let content = try? Data(contentsOf: URL(fileURLWithPath: path)) else {
            throw Failure.configuration("The settings in \(path) cannot be read. See: ls -l \(path)")
        }
        guard case .object(let members)? = JSONValue(strictObjectIn: Array(content)) else {
            throw Failure.configuration(
                "The settings in \(path) are not a JSON object, or a name comes twice. See: jq . \(path)")
        }
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            guard let kind = SettingName.all.first(where: { $0.name == name })?.kind else {
                throw Failure.configuration(
                    "The setting \"\(name)\" in \(path) is not known. For the names, type: vault-key-service --help")
            }
            guard Self.isOf(kind, value) else {
                throw Failure.configuration("The setting \(name) in \(path) is not \(kind.rawValue). Correct it there.")
            }
        }
        self.members = members
    }

    subscript(_ name: String) -> JSONValue? { members[name] }

    private static func isOf(_ kind: SettingName.Kind, _ value: JSONValue) -> Bool {
        switch kind {
        case .text: value.string != nil
        case .number: value.exactInteger.flatMap { Int($0) } != nil
        case .flag: value.bool != nil
        case .list: value.strings != nil || value.string != nil
        }
    }
}
