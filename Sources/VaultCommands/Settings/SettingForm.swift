internal import CredentialVault
internal import Foundation
internal import VaultBase

extension Settings.Name {
    /// The values that a setting can have.
    enum Form {
        case text
        /// An https URL, or plain http to this machine.
        case url
        /// One of these words.
        case choice([String])
        /// A whole number of a unit of time.
        case number(ClosedRange<Int>, Unit)
        /// A parameter of the sign-in.
        case parameter
        /// The path of a file, which becomes absolute so that it works from any folder.
        case file((_ path: String) throws -> Void)
        /// Pairs of a host and the path of a file, which becomes absolute.
        case hostFiles((_ path: String) throws -> Void)
        /// What a function accepts.
        case checked((_ value: String) throws -> Void)

        static func choice(_ words: String...) -> Form { .choice(words) }
    }

    /// A unit of time, in seconds.
    enum Unit: Int {
        case seconds = 1
        case minutes = 60
        case hours = 3600
        case days = 86_400
    }

    /// Refuses a value that can never work. An empty value removes the setting.
    func validate(_ value: String) throws {
        guard !value.isEmpty else { return }
        switch form {
        case .text: break
        case .url: try requireURL(value)
        case .choice(let words):
            guard words.contains(value) else { throw wrong("has to be \(Self.list(words))", value) }
        case .number: _ = try seconds(value)
        case .parameter: _ = try Settings.parameters { $0 == self ? value : nil }.checked()
        case .file(let check), .checked(let check): try check(value)
        case .hostFiles(let check): for file in try hostFiles(value) { try check(file.path) }
        }
    }

    /// Whether a value of two words is the one that switches something on.
    func isOn(_ value: String) throws -> Bool {
        try validate(value)
        return ["on", "yes"].contains(value)
    }

    /// The seconds that a number means. An empty value is no number: 0 would switch a limit off.
    func seconds(_ value: String) throws -> Int {
        guard case .number(let range, let unit) = form else { return 0 }
        guard let number = Int(value), range.contains(number) else {
            // The others can also come from an option.
            let correction = unit == .seconds ? " To correct it: vault config set \(rawValue) SECONDS" : ""
            throw wrong("is a number of \(unit), \(range.lowerBound) to \(range.upperBound)", value, correction)
        }
        return number * unit.rawValue
    }

    /// The time that a number means.
    func duration(_ value: String) throws -> Duration { .seconds(try seconds(value)) }

    /// A limit for a session in the agent, in seconds; 0 for none.
    func limit(_ value: String) throws -> UInt32 { UInt32(clamping: try seconds(value)) }

    func stored(_ value: String) throws -> String {
        switch form {
        case .file where !value.isEmpty: Self.absolute(value)
        case .hostFiles:
            try hostFiles(value).map { "\($0.host)=\(Self.absolute($0.path))" }.joined(separator: " ")
        default: value
        }
    }

    private static func absolute(_ path: String) -> String {
        URL(fileURLWithPath: path).standardizedFileURL.path
    }

    /// The hosts and files that a value names.
    func hostFiles(_ value: String) throws -> [(host: String, path: String)] {
        try value.split(separator: " ").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
            // A port or a path would look as if it mattered.
            guard parts.count == 2, let host = parts.first?.lowercased(), let path = parts.last, !host.contains("/"),
                (try? ServerEndpoint("https://\(host):1"))?.url == "https://\(host):1"
            else { throw wrong("is HOST=FILE, such as keys.example.com=/etc/ssl/keys-ca.pem", String(pair)) }
            return (host: host, path: path)
        }
    }

    private func wrong(_ rule: String, _ value: String, _ correction: String = "") -> VaultError {
        VaultError(.configurationInvalid, "\(rawValue) \(rule), and not \(value).\(correction)")
    }

    private static func list(_ words: [String]) -> String {
        words.count == 2 ? words.joined(separator: " or ") : "one of " + words.joined(separator: ", ")
    }

    private func requireURL(_ value: String) throws {
        let url = URLComponents(string: value)
        let isLocal = LoopbackAddress.isLoopback(host: url?.host ?? "")
        guard url?.host?.isEmpty == false, url?.scheme == "https" || url?.scheme == "http" && isLocal else {
            throw VaultError(
                .configurationInvalid, "\(rawValue) has to be an https URL (plain http only works on this machine).")
        }
    }
}
