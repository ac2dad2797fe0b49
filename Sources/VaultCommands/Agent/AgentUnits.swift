internal import CredentialVault
internal import Foundation
internal import VaultAgent

/// The systemd units that start the agent when a program connects to it.
struct AgentUnits {
    static let name = "credential-vault-agent"

    /// The contents of the files, by file name.
    private let contents: [String: String]
    private let folder: String

    init(_ settings: Settings, _ global: GlobalOptions) throws {
        let program = try ProgramPath.own
        let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] ?? ""
        guard let path = AgentClient(folder: settings.agentFolder).path, path.hasPrefix(runtime) else {
            throw VaultError(.configurationInvalid, "The agent needs XDG_RUNTIME_DIR. Log in to the machine first.")
        }
        let quoted = [program, global.caFile, settings.agentFolder].compactMap(\.self)
        guard quoted.allSatisfy({ !$0.contains(where: { $0 == "\"" || $0 == "\\" || $0 == "%" || $0.isNewline }) })
        else {
            throw VaultError(
                .configurationInvalid, "The path \(program), or a setting, has a character that systemd does not take.")
        }
        let home = "Environment=\"CREDENTIAL_VAULT_HOME=\(settings.agentFolder)\"\n"
        let certificates = global.caFile.map { " --ca-file \"\($0)\"" } ?? ""
        folder =
            (Settings.path as NSString).deletingLastPathComponent.replacing("/credential-vault", with: "")
            + "/systemd/user"
        contents = [
            Self.name + ".socket": """
            [Unit]
            Description=Credential Vault agent

            [Socket]
            ListenStream=%t\(path.dropFirst(runtime.count))
            DirectoryMode=0700
            SocketMode=0600

            [Install]
            WantedBy=sockets.target

            """,
            Self.name + ".service": """
            [Unit]
            Description=Credential Vault agent
            Requires=\(Self.name).socket

            [Service]
            \(home)ExecStart="\(program)" agent start --foreground\(certificates)
            LimitCORE=0
            MemorySwapMax=0
            NoNewPrivileges=yes
            LockPersonality=yes
            SystemCallArchitectures=native

            """,
        ]
    }

    /// Writes the files.
    ///
    /// - Returns: their paths.
    func install() throws -> [String] {
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            return try contents.sorted { $0.key < $1.key }.map { name, text in
                let path = folder + "/" + name
                guard ReplacedFile.write(Array(text.utf8), to: path, suffix: "new") else {
                    throw VaultError(.configurationInvalid, "\(path) cannot be written.")
                }
                return path
            }
        } catch let error as CocoaError {
            throw VaultError(.configurationInvalid, "\(folder) cannot be made.", underlying: error)
        }
    }

    /// Removes the files.
    ///
    /// - Returns: the paths of the removed files.
    func uninstall() -> [String] {
        // The link of "systemctl --user enable" would lead nowhere.
        unlink("\(folder)/sockets.target.wants/\(Self.name).socket")
        return contents.keys.sorted().map { folder + "/" + $0 }.filter { unlink($0) == 0 }
    }
}
