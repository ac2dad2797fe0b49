internal import ArgumentParser
internal import Foundation
internal import KeyServiceServer
internal import VaultBase

/// How many wrong guesses lock a key. The store keeps the numbers for all instances of the service.
struct LimitOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "How many wrong guesses in a row lock a key. (default: as stored, at first 3)", valueName: "number"))
    var maxGuesses: Int?

    @Option(
        help: ArgumentHelp(
            """
            How many wrong guesses in all lock a key. Right guesses do not reset this count. (default: as stored, at \
            first 100)
            """,
            valueName: "number"))
    var maxGuessesTotal: Int?
}

/// The limits against clients that ask for too much.
struct ClientLimitOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            The address of a reverse proxy, such as 127.0.0.1 or 10.0.0.0/8. The service reads the client's address \
            from the X-Forwarded-For of this proxy. Can be given several times.
            """,
            valueName: "address"))
    var trustedProxy: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            How many connections there may be at the same time. For a further connection, the service closes an idle \
            one. Each connection needs an open file. (default: 512)
            """,
            valueName: "number"))
    var maxConnections: Int?

    @Option(
        help: ArgumentHelp(
            """
            How many connections one address may have at the same time. 0 means no limit. A --trusted-proxy has no \
            limit. (default: 256)
            """,
            valueName: "number"))
    var maxConnectionsPerAddress: Int?

    @Option(
        help: ArgumentHelp(
            "How many keys one address may make in an hour. 0 means no limit. (default: 600)", valueName: "number"))
    var createsPerHour: Int?

    @Option(
        help: ArgumentHelp(
            "How many keys all addresses may make in an hour. 0 means no limit. (default: 20000)", valueName: "number"))
    var createsPerHourTotal: Int?

    @Option(
        help: ArgumentHelp(
            """
            How many requests of one address the service may refuse in a minute, such as wrong guesses, before all its \
            requests get 503. Ten times as many may come at once. 0 means no limit. (default: 60)
            """,
            valueName: "number"))
    var refusalsPerMinute: Int?

    @Option(
        help: ArgumentHelp(
            """
            The service destroys a key that stays locked for so many days. This concerns only keys of the protocol's \
            version 2. (default: 30)
            """,
            valueName: "days"))
    var destroyAfter: Int?

    func apply(_ settings: Settings, to configuration: inout KeyServiceServerConfiguration) throws {
        if let days = try settings.number(destroyAfter, "destroyAfter") {
            configuration.destroyAfter = Int64(days).multipliedReportingOverflow(by: 24 * 3600).partialValue
        }
        configuration.trustedProxies = settings.list(trustedProxy, "trustedProxy")
        let connections = try settings.number(maxConnections, "maxConnections")
        configuration.maxConnections = connections ?? configuration.maxConnections
        let perAddress = try settings.number(maxConnectionsPerAddress, "maxConnectionsPerAddress")
        configuration.maxConnectionsPerAddress = perAddress ?? configuration.maxConnectionsPerAddress
        let creates = try settings.number(createsPerHour, "createsPerHour")
        configuration.createsPerHour = creates ?? configuration.createsPerHour
        let total = try settings.number(createsPerHourTotal, "createsPerHourTotal")
        configuration.createsPerHourTotal = total ?? configuration.createsPerHourTotal
        let refusals = try settings.number(refusalsPerMinute, "refusalsPerMinute")
        configuration.refusalsPerMinute = refusals ?? configuration.refusalsPerMinute
    }
}

/// The certificate of the service.
struct TLSOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The certificate with its chain, in PEM. The service then speaks TLS 1.3.", valueName: "file"))
    var tlsCertificate: String?

    @Option(
        help: ArgumentHelp(
            "The private key of the certificate, in PEM. Other users must not read it.", valueName: "file"))
    var tlsKey: String?

    @Option(help: ArgumentHelp("The lowest version of TLS: 1.2 or 1.3. (default: 1.3)", valueName: "version"))
    var tlsMinimum: String?

    @Option(
        help: ArgumentHelp(
            "The certificate authorities of clients, in PEM. Each client needs a certificate from one of these.",
            valueName: "file"))
    var tlsClientCA: String?

    func files(_ settings: Settings) throws -> TLSFiles? {
        let clientCA = settings.string(tlsClientCA, "tlsClientCa")
        let minimum = settings.string(tlsMinimum, "tlsMinimum")
        guard let certificate = settings.string(tlsCertificate, "tlsCertificate") else {
            guard !settings.names(tlsKey, "tlsKey"), clientCA == nil, minimum == nil else {
                throw Failure.configuration("TLS needs a certificate. Add: --tls-certificate FILE --tls-key FILE")
            }
            return nil
        }
        guard let key = settings.string(tlsKey, "tlsKey") else {
            throw Failure.configuration("The private key of the certificate is missing. Add: --tls-key FILE")
        }
        var files = TLSFiles(certificate: certificate, key: key)
        files.clientCA = clientCA
        switch minimum {
        case nil, "1.3": break
        case "1.2": files.allowsTLS12 = true
        case let other?:
            throw Failure.configuration("TLS \(other) cannot be the minimum. Use: --tls-minimum 1.3, or 1.2")
        }
        if let credentials = ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"] {
            files.isKeyCredential = key.hasPrefix(credentials + "/")
        }
        return files
    }
}

/// The address of `--listen`: `127.0.0.1:8787`, `localhost:0` or `[::1]:8787`.
struct ListenAddress {
    let host: String
    let port: Int

    init(_ text: String) throws {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65535).contains(port)
        else { throw Failure.configuration("\"\(text)\" is not of the form HOST:PORT.") }
        var host = String(text[..<colon])
        if host.hasPrefix("[") && host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
        } else if host.isEmpty || host.contains(":") {
            throw Failure.configuration(
                "\"\(text)\" is not of the form HOST:PORT. Write an IPv6 address in brackets, such as [::1]:8787.")
        }
        self.host = host
        self.port = port
    }

    /// Whether only processes of this machine can connect.
    var isLoopback: Bool { LoopbackAddress.isLoopback(host: host) }
}
