internal import ArgumentParser
internal import UnixSignals
internal import VaultDevelopment

@main struct VaultDev: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vault-dev",
        abstract: "Run an OpenID provider and a key service (and a backend) on this machine, to try things out.",
        discussion: """
            Prints the environment to export on stdout, and runs until Ctrl-C. The users are alice (alice-password) and \
            bob (bob-password). Never use it for anything real: its passwords are public.
            """,
        subcommands: [Browse.self])

    @Option(
        help: ArgumentHelp(
            "Keep accounts and addresses here across restarts. Without it, a temporary folder is used and removed.",
            valueName: "dir"))
    var data: String?

    @Option(
        help: ArgumentHelp(
            "Where the identity provider listens; port 0 picks a free one. (default: what --data holds, or 127.0.0.1:0)",
            valueName: "host:port"),
        transform: { try LoopbackAddress($0) })
    var listen: LoopbackAddress?

    @Option(
        help: ArgumentHelp(
            "Where the key service listens, likewise.", valueName: "host:port"),
        transform: { try LoopbackAddress($0) })
    var keyServiceListen: LoopbackAddress?

    @Flag(help: "Start an app's backend, too, with ways in of its own. Its URL is CREDENTIAL_VAULT_DEV_BACKEND.")
    var backend = false

    @Option(
        help: ArgumentHelp("Where the backend listens, likewise.", valueName: "host:port"),
        transform: { try LoopbackAddress($0) })
    var backendListen: LoopbackAddress?

    @Option(
        help: ArgumentHelp(
            "Write the environment to this file, too, once all are up. It is removed at the end.", valueName: "path"))
    var envFile: String?

    @Option(
        help: ArgumentHelp(
            "The address of a proxy before the identity provider. Its issuer names this address then.",
            valueName: "host:port"),
        transform: { try LoopbackAddress($0) })
    var proxy: LoopbackAddress?

    @OptionGroup(title: "Identity provider options")
    var provider: ProviderSwitches

    @OptionGroup(title: "Backend options")
    var backendSwitches: BackendSwitches

    func validate() throws {
        guard backend || backendListen == nil && !backendSwitches.areSet else {
            throw ValidationError("The backend has options, but is not asked for: add --backend.")
        }
    }

    func run() async throws {
        ignoreBrokenPipes()
        // Trapped before anything is made, so that Ctrl-C always cleans up.
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm, .sighup)
        let folder = try DataFolder(path: data)
        var servers: Servers?
        var environmentFile: EnvironmentFile?
        do {
            let addresses = folder.addresses(
                provider: listen, keyService: keyServiceListen, backend: backendListen)
            let running = try await Servers.start(
                addresses, proxy: proxy, folder: folder.path, options: provider.options,
                backendOptions: backend ? backendSwitches.options : nil)
            servers = running
            try folder.remember(running.addresses)
            let environment = Environment(servers: running)
            environmentFile = try envFile.map { try EnvironmentFile(path: $0, environment) }
            writeToStandardOutput(environment.text)
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
