internal import ArgumentParser
internal import CoreMetrics
internal import Foundation
internal import KeyServiceCore
internal import KeyServiceServer
internal import Logging
internal import VaultBase

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the service.",
        discussion: """
              vault-key-service serve --data /var/lib/vault-key-service

            Without a certificate the service speaks plain HTTP, for clients on this machine. For other clients, add \
            a certificate. Or run a reverse proxy with TLS on this machine, and name the proxy with --trusted-proxy.

            SIGTERM or SIGINT ends the service. It first waits for the --drain-delay, and then up to 10 seconds for \
            the requests under way. Another signal ends the present wait. SIGHUP reads the certificate and the \
            logLevel of --config again. SIGUSR1 logs more, SIGUSR2 less.
            """)

    @OptionGroup var common: CommonOptions

    @Option(
        help: ArgumentHelp(
            "The address to listen on. Port 0 picks a free port. (default: 127.0.0.1:8787)", valueName: "host:port"))
    var listen: String?

    @Option(help: ArgumentHelp("The path before /keyservice/v1 in the URLs.", valueName: "path"))
    var basePath: String?

    @OptionGroup var limits: LimitOptions
    @OptionGroup var clientLimits: ClientLimitOptions
    @OptionGroup var tls: TLSOptions
    @OptionGroup var owners: OwnerOptions

    @Option(
        help: ArgumentHelp(
            """
            A separate address for /healthz, /readyz and /metrics, over plain HTTP. Clients cannot keep this address \
            busy. (default: none)
            """,
            valueName: "host:port"))
    var healthListen: String?

    @Option(
        help: ArgumentHelp(
            """
            How long the service still takes requests after SIGTERM. /readyz fails at once, so a load balancer sends \
            requests elsewhere. (default: 0)
            """,
            valueName: "seconds"))
    var drainDelay: Int?

    @Flag(help: "Accept that a failover of PostgreSQL to an asynchronous standby gives guesses back.")
    var allowAsynchronousStandby = false

    @OptionGroup var audit: ServerAuditOptions

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
            let settings = try Settings(common)
            let level = LogLevel(try LogLevel.read(logLevel, settings))
            var operation = KeyServiceOperation()
            operation.explain = Failure.words
            let prometheus = PrometheusMetrics()
            MetricsSystem.bootstrap(prometheus)
            let metrics = KeyServiceMetrics()
            operation.metrics = metrics
            operation.metricsText = { prometheus.text() }
            let logFile = LogFile(onDrop: { metrics.logLinesDropped(1) })
            defer { logFile.flush() }
            let logger = Logger(label: "vault-key-service") { LineLogHandler(label: $0, file: logFile, level: level) }
            let configuration = try configuration(settings)
            let drainDelay = try drainDelay(settings)
            operation.onHealthRunning = { Output.announce("Health on \($0.baseURL)") }
            operation.onRunning = { address in
                logger.notice(
                    "Started version=\(Release.version) address=\(address.baseURL) store=\(settings.storeName(common))"
                )
                Systemd.tell(.ready, logger)
                Output.announce("Listening on \(address.baseURL)")
            }
            let opened = try await settings.openToServe(
                common, allowAsynchronousStandby: allowAsynchronousStandby, logger, observer: metrics)
            operation.audit = try await audit.log(
                settings, of: opened.store, logger: logger, metrics: metrics)
            operation.owners = try owners.verifier(settings)
            let application = try await buildApplication(
                configuration, opened, logger: logger, operation: operation)
            let run = ServiceRun(
                application: application, control: operation.control, logger: logger, level: level,
                drainDelay: .seconds(drainDelay),
                audit: operation.audit,
                readLevel: { try LogLevel.read(logLevel, Settings(common)) })
            do {
                try await run.run()
            } catch let error where !(error is KeyServiceServerError) {
                throw Failure.listening(error, on: configuration)
            }
        }
    }

    private func configuration(_ settings: Settings) throws -> KeyServiceServerConfiguration {
        var configuration = KeyServiceServerConfiguration()
        let address = try ListenAddress(settings.string(listen, "listen") ?? "127.0.0.1:8787")
        configuration.host = address.host
        configuration.port = address.port
        configuration.tls = try tls.files(settings)
        let allowsRemoteHTTP = try settings.flag(insecureAllowRemoteHTTP, "insecureAllowRemoteHttp")
        guard address.isLoopback || configuration.tls != nil || allowsRemoteHTTP else {
            throw Failure.configuration(
                """
                Other machines can reach \(address.host). Plain HTTP would show secrets to the network. Add: \
                --tls-certificate FILE --tls-key FILE. Or listen on 127.0.0.1 behind a reverse proxy with TLS. To \
                accept the danger, add: --insecure-allow-remote-http
                """)
        }
        configuration.endsUnclaimedKeys = try !settings.flag(owners.keepUnclaimedKeys, "keepUnclaimedKeys")
        configuration.ownersMayUnlock = try owners.mayUnlock(settings)
        configuration.basePath = settings.string(basePath, "basePath") ?? ""
        configuration.maxGuesses = try settings.number(limits.maxGuesses, "maxGuesses")
        configuration.maxGuessesTotal = try settings.number(limits.maxGuessesTotal, "maxGuessesTotal")
        try clientLimits.apply(settings, to: &configuration)
        if let health = try settings.string(healthListen, "healthListen").map({ try ListenAddress($0) }) {
            configuration.healthAddress = (health.host, health.port)
        }
        return configuration
    }

    private func drainDelay(_ settings: Settings) throws -> Int {
        let seconds = try settings.number(drainDelay, "drainDelay") ?? 0
        guard (0...3600).contains(seconds) else {
            throw Failure.configuration("The drain delay must be between 0 and 3600 seconds.")
        }
        return seconds
    }
}
