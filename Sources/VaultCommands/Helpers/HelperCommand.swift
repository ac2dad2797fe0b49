internal import ArgumentParser
internal import CredentialVault

struct HelperCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "helper",
        abstract: "Give access tokens to git, docker, kubectl and curl.",
        discussion: """
            vault helper install git --host git.example.com --user alice

            After that git asks vault for the password of git.example.com, and gets a valid access token.
            """,
        subcommands: [
            Install.self, Uninstall.self, GitHelper.self, DockerHelper.self, KubectlHelper.self, CurlHelper.self,
        ])

    /// A program that asks a helper by its own settings.
    enum Tool: String, CaseIterable, ExpressibleByArgument {
        case git, docker, kubectl
    }

    struct Install: AsyncParsableCommand, JSONCommand {
        static let configuration = CommandConfiguration(
            commandName: "install",
            abstract: "Set up git, docker or kubectl so that it gets its tokens from vault.",
            discussion: """
                git: writes to the global configuration (git config --global), for the named hosts.
                docker: writes to ~/.docker/config.json, and a script docker-credential-vault-HOST to ~/.local/bin.
                kubectl: adds a user vault-NAME to the configuration of kubectl.

                Can be repeated. To take it back: vault helper uninstall
                """)

        @Argument(help: "git, docker or kubectl.") var tool: Tool
        @OptionGroup var host: HostOption
        @OptionGroup var user: UserOption
        @OptionGroup var global: GlobalOptions

        func validate() throws { try HelperCommand.check(tool, host) }

        func run() async throws {
            let account = try await user.account(in: global.openVault())
            // With one account there is no --user yet. With a second one it would be missing.
            let name = user.id ?? account.alias ?? account.id.subject
            var options = ["--user", name]
            if let issuer = global.issuer { options += ["--issuer", issuer] }
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
                    let account = try await user.account(in: global.openVault())
                    name = account.alias ?? account.id.subject
                }
                report = try KubectlSetting.uninstall(name: name ?? "")
            }
            report.show(isJSON: global.json)
        }
    }

    private static func check(_ tool: Tool, _ host: HostOption) throws {
        guard tool == .kubectl || !host.hosts.isEmpty else {
            throw ValidationError("Name the server that gets the token: --host git.example.com")
        }
    }
}
