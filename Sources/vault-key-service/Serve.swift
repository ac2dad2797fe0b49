internal import ArgumentParser
internal import Configuration
internal import Hummingbird
internal import KeyServiceServer
internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the service.",
        discussion: """
              vault-key-service serve --data /var/lib/vault-key-service

            The service speaks plain HTTP, for clients on this machine. For other clients, run a reverse proxy with \
            TLS on this machine.
            """)

    @OptionGroup var common: CommonOptions

    @Option(
        help: ArgumentHelp(
            "The address to listen on. Port 0 picks a free port. (default: 127.0.0.1:8787)", valueName: "host:port"))
    var listen: String?

    @Option(help: ArgumentHelp("The path before /keyservice/v1 in the URLs.", valueName: "path"))
    var basePath: String?

    @OptionGroup var limits: LimitOptions

    @Option(
        help: ArgumentHelp(
            "How much to log: trace, debug, info, notice, warning, error, critical. (default: info)",
            valueName: "level"))
    var logLevel: String?

    @Flag(
        name: .customLong("insecure-allow-remote-http"),
        help: "Allow plain HTTP on an address that other machines can reach.")
    var insecureAllowRemoteHTTP = false

    func run() async throws {
        try await Failure.reporting {
            let settings = try await Settings(common)
            let logFile = LogFile()
            defer { logFile.flush() }
            let logger = try makeLogger(settings, logFile)
            var configuration = KeyServiceServerConfiguration()
            let address = try ListenAddress(settings.string(listen, "listen") ?? "127.0.0.1:8787")
            guard try address.isLoopback || settings.flag(insecureAllowRemoteHTTP, "insecureAllowRemoteHttp") else {
                throw Failure.configuration(
                    """
                    \(address.host) is not an address of this machine alone. Plain HTTP would show secrets to the \
                    network. Listen on 127.0.0.1 behind a reverse proxy with TLS on this machine, or add \
                    --insecure-allow-remote-http.
                    """)
            }
            configuration.host = address.host
            configuration.port = address.port
            configuration.basePath = settings.string(basePath, "basePath") ?? ""
            configuration.maxGuesses = try settings.number(limits.maxGuesses, "maxGuesses")
            configuration.maxGuessesTotal = try settings.number(limits.maxGuessesTotal, "maxGuessesTotal")
            let opened = try await settings.folder().open()
            let application = try await buildApplication(
                configuration, opened, logger: logger,
                onServerRunning: { Output.result("Listening on \($0.baseURL)") })
            var group = ServiceGroupConfiguration(
                services: [application], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
            // A client that never finishes its request must not keep the service from ending.
            group.maximumGracefulShutdownDuration = .seconds(30)
            do {
                try await ServiceGroup(configuration: group).run()
            } catch {
                throw Failure.configuration("The service cannot run on \(address.host):\(address.port): \(error)")
            }
        }
    }

    private func makeLogger(_ settings: Settings, _ file: LogFile) throws -> Logger {
        let name = settings.string(logLevel, "logLevel") ?? "info"
        guard let level = Logger.Level(rawValue: name) else {
            throw Failure.configuration("There is no log level \"\(name)\".")
        }
        var logger = Logger(label: "vault-key-service") { LineLogHandler(label: $0, file: file) }
        logger.logLevel = level
        return logger
    }
}
