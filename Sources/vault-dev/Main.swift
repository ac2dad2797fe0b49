internal import ArgumentParser
internal import UnixSignals
internal import VaultBase
internal import VaultDevelopment

@main struct VaultDev: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vault-dev",
        abstract: "Run an OpenID provider and a key service (and a backend) on this machine, to try things out.",
        discussion: """
              vault-dev --data ~/vault-dev --env-file ~/vault-dev.env

            vault-dev prints the environment to export, and runs until Ctrl-C. The users are alice (alice-password) \
            and bob (bob-password). Do not use vault-dev for real accounts, because its passwords are public.
            """,
        version: Release.version,
        subcommands: [Browse.self])

    @Option(
        help: ArgumentHelp(
            "The folder that keeps accounts and addresses across restarts. (default: a temporary folder)",
            valueName: "dir"))
    var data: String?

    @Option(
        help: ArgumentHelp(
            "The address of the identity provider. Port 0 picks a free port. (default: the last address, or 127.0.0.1:0)",
            valueName: "host:port"),
        transform: { try LoopbackAddress($0) })
    var listen: LoopbackAddress?

    @Option(
        help: ArgumentHelp(
            "The address of the key service. (default: the last address, or 127.0.0.1:0)", valueName: "host:port"),
        transform: { try LoopbackAddress($0) })
    var keyServiceListen: LoopbackAddress?

    @Flag(help: "Also start an app's backend. Its URL is in CREDENTIAL_VAULT_DEV_BACKEND.")
    var backend = false

    @Option(
        help: ArgumentHelp("The address of the backend. (default: the last address, or any)", valueName: "host:port"),
        transform: { try LoopbackAddress($0) })
    var backendListen: LoopbackAddress?

    @Option(
        help: ArgumentHelp(
            "Also write the environment to this file when all servers run. The file is removed at the end.",
            valueName: "path"))
    var envFile: String?

    @Option(
        help: ArgumentHelp(
            "The address of a proxy before the identity provider. The issuer then has this address.",
            valueName: "host:port"),
        transform: { try LoopbackAddress($0) })
    var proxy: LoopbackAddress?

    @OptionGroup(title: "Identity provider options")
    var provider: ProviderSwitches

    @OptionGroup(title: "Backend options")
    var backendSwitches: BackendSwitches

    static func main() async {
        do {
            var command = try await asyncParseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch {
            end(error)
        }
    }

    /// Help is a result, too.
    private static func end(_ error: any Error) -> Never {
        guard exitCode(for: error) == .success, !(error is ExitCode) else { exit(withError: error) }
        do { try writeToStandardOutput(fullMessage(for: error) + "\n") } catch { exit(withError: error) }
        exit()
    }

    func validate() throws {
        guard backend || backendListen == nil && !backendSwitches.areSet else {
            throw ValidationError("The options of the backend need --backend.")
        }
    }

    func run() async throws {
        ignoreBrokenPipes()
        // Signals are trapped before anything is made, so that Ctrl-C always cleans up.
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm, .sighup)
        let folder = try DataFolder(path: data)
        var servers: Servers?
        var environmentFile: EnvironmentFile?
        do {
            let addresses = folder.addresses(
                provider: listen, keyService: keyServiceListen, backend: backendListen)
            let running = try await Servers.start(
                addresses, proxy: proxy, folder: folder.path, options: provider.options,
                backendOptions: backend ? backendSwitches.options(deviceInterval: provider.deviceInterval) : nil)
            servers = running
            try folder.remember(running.addresses)
            let environment = Environment(servers: running)
            environmentFile = try envFile.map { try EnvironmentFile(path: $0, environment) }
            try writeToStandardOutput(environment.text)
            writeToStandardError(running.explanation(folder: folder, environmentFile: envFile))
            try await running.wait(for: signals)
        } catch {
            environmentFile?.remove()
            await servers?.stop()
            folder.close()
            throw error
        }
        environmentFile?.remove()
        await servers?.stop()
        folder.close()
    }
}
