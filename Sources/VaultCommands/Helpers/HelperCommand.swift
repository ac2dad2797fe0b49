internal import ArgumentParser
internal import CredentialVault

struct HelperCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "helper",
        abstract: "Give access tokens to git, docker, kubectl and curl.",
        discussion: """
              vault helper install git --host git.example.com --user alice

            After that, git gets a valid access token from vault as the password for git.example.com.
            """,
        subcommands: [
            Install.self, Uninstall.self, GitHelper.self, DockerHelper.self, KubectlHelper.self, CurlHelper.self,
        ])

    /// A program whose own settings name a helper.
    enum Tool: String, CaseIterable, ExpressibleByArgument {
        case git, docker, kubectl
    }

    struct Install: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "install",
            abstract: "Let git, docker or kubectl get tokens from vault.",
            discussion: """
                  vault helper install git --host git.example.com --user alice
                  vault helper install docker --host registry.example.com --user alice
                  vault helper install kubectl --user alice

                git: writes the global configuration (git config --global).
                docker: writes ~/.docker/config.json, and a script in ~/.local/bin.
                kubectl: adds the user vault-NAME to the configuration of kubectl.

                These programs cannot use tokens that are bound to a key (DPoP). See "vault register --no-dpop".

                To undo this: vault helper uninstall
                """)

        @Argument(help: "git, docker or kubectl.") var tool: Tool
        @OptionGroup var host: HostOption
        @OptionGroup var user: UserOption
        @OptionGroup var global: GlobalOptions

        func validate() throws { try HelperCommand.check(tool, host) }

        func run() async throws {
            let vault = try await global.openVault()
            let account = try await user.account(in: vault)
            guard !account.hasBoundTokens else { throw BoundToken.refusal(account, for: tool) }
            let name = if let id = user.id { id } else { try await HelperCommand.name(of: account, in: vault) }
            // After the account is deleted, the name can mean an account at another provider. The server must not get
            // the token of that account.
            let user = name.hasPrefix("-") ? ["--user=\(name)"] : ["--user", name]
            let options = user + ["--issuer", account.id.issuer]
            let setting = HelperSetting(program: try HelperSetting.vault(), options: options, hosts: host.hosts)
            let report =
                switch tool {
                case .git: try GitSetting.install(setting)
                case .docker: try DockerSetting.install(setting)
                case .kubectl: try KubectlSetting.install(setting, name: name)
                }
            report.show(isJSON: global.json)
        }
    }

    struct Uninstall: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "uninstall",
            abstract: "Remove the settings that \"vault helper install\" wrote. Other settings stay.",
            discussion: "Needs no password. If the account was deleted, kubectl also needs --user NAME.")

        @Argument(help: "git, docker or kubectl.") var tool: Tool
        @OptionGroup var host: HostOption
        @OptionGroup var user: UserOption
        @OptionGroup var global: GlobalOptions

        func validate() throws { try HelperCommand.check(tool, host) }

        func run() async throws {
            let report: HelperReport
            switch tool {
            case .git: report = try GitSetting.uninstall(host.hosts)
            case .docker: report = try DockerSetting.uninstall(host.hosts)
            case .kubectl:
                var name = user.id
                if name == nil {
                    let vault = try await global.openVault()
                    name = try await HelperCommand.name(of: user.account(in: vault), in: vault)
                }
                report = try KubectlSetting.uninstall(name: name ?? "")
            }
            report.show(isJSON: global.json)
        }
    }

    /// The name of an account in a setting. Without `--user` in the setting, the helper would fail as soon as there is a
    /// second account. A server could later send a user name or an e-mail address for another account, too.
    private static func name(of account: Account, in vault: Vault) async throws -> String {
        if let alias = account.alias { return alias }
        let subject = account.id.subject
        let isAlias = try await vault.storage.all().contains { $0.alias == subject }
        return isAlias ? try await vault.storage.uniqueName(of: account.id) : subject
    }

    private static func check(_ tool: Tool, _ host: HostOption) throws {
        guard tool == .kubectl || !host.hosts.isEmpty else {
            throw ValidationError("Name the server that gets the token: --host git.example.com")
        }
    }
}
