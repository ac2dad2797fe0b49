internal import AsyncHTTPClient
internal import FoundationEssentials
public import HTTPTypes
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import VaultBase
public import VaultHTTP

/// The transport for real networks, over async-http-client.
///
/// It speaks HTTP/1.1 over TLS 1.2 or later. Plain `http:` goes only to this machine, and to the local network if the
/// limits of the exchange allow it. It follows no redirects, retries nothing, and uses no proxy. Threads and the TLS
/// context start with the first request. Connections stay open for a few seconds, so the requests of one login share a
/// connection. ``shutdown()`` closes the connections early. It is not needed at the end of the process.
public final class AsyncHTTPTransport: HTTPTransport {
    private enum State {
        case idle
        case running(HTTPClient)
        case shutDown
    }

    private let state = Lock(State.idle)
    private let certificateFile: CertificateFile?
    /// The only authorities to trust at a host, by the host's name.
    private let hostCertificateFiles: [String: CertificateFile]
    private let tlsOfHosts = Lock<[String: TLSConfiguration]>([:])

    /// Makes a transport. It starts nothing and reads no file.
    ///
    /// - Parameters:
    ///   - certificateFile: certificate authorities to trust besides the system's.
    ///   - hostCertificateFiles: the only certificate authorities to trust at a host, in place of the system's and of
    ///     `certificateFile`. The key is the name or address of the host, without a port.
    public init(certificateFile: CertificateFile? = nil, hostCertificateFiles: [String: CertificateFile] = [:]) {
        self.certificateFile = certificateFile
        self.hostCertificateFiles = Dictionary(
            hostCertificateFiles.map { (Self.name(of: $0.key), $0.value) }, uniquingKeysWith: { $1 })
    }

    deinit {
        // Without a shutdown, HTTPClient traps in debug builds. It keeps itself alive until the shutdown is done.
        if case .running(let client) = state.withLock({ $0 }) {
            client.shutdown { _ in }
        }
    }

    /// Closes every connection. Running and later exchanges throw ``HTTPError``.
    public func shutdown() async {
        let last = state.withLock { state in
            defer { state = .shutDown }
            return state
        }
        if case .running(let client) = last { try? await client.shutdown() }
    }

    /// Sends one request; see ``HTTPTransport``. The connect limit is at most 60 seconds.
    public func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer {
        // The part before an "@" is dropped, as it may be a password.
        let authority = request.authority.map { String($0.split(separator: "@").last ?? "") } ?? ""
        guard let url = Self.allowedURL(of: request, limits) else {
            throw HTTPError(.forbiddenURL, authority: authority)
        }
        guard !Task.isCancelled else { throw HTTPError(.cancelled, authority: authority) }
        guard let client = try client(for: authority) else { throw HTTPError(.notConnected, authority: authority) }
        let tls = url.scheme == "https" ? try tls(for: Self.name(of: url.host ?? ""), authority) : nil
        let needsSystem = url.scheme == "https" && tls == nil && certificateFile == nil
        if needsSystem && !CertificateFile.systemHasAuthorities { throw CertificateFile.noAuthorities(for: authority) }

        let exchange = HTTPExchange(bodyLimit: limits.bodyBytes)
        do {
            let clientRequest = try HTTPClient.Request(
                url: url, method: NIOHTTP1.HTTPMethod(rawValue: request.method.rawValue),
                headers: HTTPHeaders(request.headerFields.map { ($0.name.rawName, $0.value) }),
                body: body.isEmpty ? nil : .bytes(body), tlsConfiguration: tls)
            let task = client.execute(
                request: clientRequest, delegate: exchange, deadline: .now() + TimeAmount(limits.exchange))
            let connecting = task.eventLoop.scheduleTask(in: TimeAmount(limits.connect)) {
                if !exchange.headWasSent { task.fail(reason: HTTPClientError.connectTimeout) }
            }
            defer { connecting.cancel() }
            return try await withTaskCancellationHandler {
                try await task.get()
            } onCancel: {
                task.cancel()
            }
        } catch {
            let code = Self.code(for: error, in: exchange)
            if code == .untrustedCertificate && needsSystem && !CertificateFile.systemHasFile {
                throw CertificateFile.noAuthorities(for: authority)
            }
            throw HTTPError(code, authority: authority, underlying: error)
        }
    }

    private static func code(for error: any Error, in exchange: HTTPExchange) -> HTTPError.Code {
        if error is HTTPExchange.AnswerTooLarge { return .answerTooLarge }
        if Task.isCancelled, error as? HTTPClientError == .cancelled { return .cancelled }
        // The kind of error does not tell whether the server saw the request. Only this does.
        guard exchange.headWasSent else { return isDistrust(error) ? .untrustedCertificate : .notConnected }
        if error is AnswerGuard.Refusal || error is HTTPParserError { return .invalidAnswer }
        let isLate = [.deadlineExceeded, .readTimeout].contains(error as? HTTPClientError)
        return isLate ? .timedOut : .interrupted
    }

    private static func isDistrust(_ error: any Error) -> Bool {
        if error is NIOSSLExtraError { return true }  // The certificate has another host name.
        guard case .handshakeFailed(.sslError(let errors)) = error as? NIOSSLError else { return false }
        return errors.contains { "\($0)".contains("CERTIFICATE_VERIFY_FAILED") }
    }

    /// Returns the request's URL; nil if it is not allowed.
    private static func allowedURL(of request: HTTPRequest, _ limits: HTTPLimits) -> URL? {
        guard let scheme = request.scheme?.lowercased(), let authority = request.authority, isPlain(authority),
            // Any other start would extend the authority, and name another host or port.
            request.path?.hasPrefix("/") ?? true,
            let url = URL(string: "\(scheme)://\(authority)\(request.path ?? "/")"),
            let host = url.host, !host.isEmpty
        else { return nil }
        if scheme == "https" { return url }
        let isAllowed =
            LoopbackAddress.isLoopback(host: host)
            || limits.allowsInsecureHTTP && LocalNetworkAddress.isLocal(host: host)
        return scheme == "http" && isAllowed ? url : nil
    }

    /// Whether it has no character that ends the authority of a URL (RFC 3986 section 3.2), and no user.
    private static func isPlain(_ authority: String) -> Bool {
        authority.unicodeScalars.allSatisfy { character in
            !"/?#@\\".unicodeScalars.contains(character) && !character.properties.isWhitespace
                && character.properties.generalCategory != .control
        }
    }

    private func client(for authority: String) throws -> HTTPClient? {
        try state.withLock { state in
            switch state {
            case .running(let client): return client
            case .shutDown: return nil
            case .idle:
                let configuration: HTTPClient.Configuration
                do {
                    configuration = try self.configuration()
                } catch {
                    throw HTTPError(.certificateFileInvalid, authority: authority, underlying: error)
                }
                let client = HTTPClient(eventLoopGroup: EventLoops.shared, configuration: configuration)
                state = .running(client)
                return client
            }
        }
    }

    /// Returns the TLS settings of a host with authorities of its own; nil for any other host.
    private func tls(for host: String, _ authority: String) throws -> TLSConfiguration? {
        guard let file = hostCertificateFiles[host] else { return nil }
        return try tlsOfHosts.withLock { known in
            if let known = known[host] { return known }
            var tls = Self.standardTLS
            do {
                tls.trustRoots = .certificates(try file.certificates())
            } catch {
                throw HTTPError(.certificateFileInvalid, authority: authority, underlying: error)
            }
            known[host] = tls
            return tls
        }
    }

    /// Returns the name of a host in the one form that is compared, without the brackets of an IPv6 address and without
    /// a dot at the end.
    private static func name(of host: String) -> String {
        let name = host.lowercased().filter { !"[]".contains($0) }
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }

    private static var standardTLS: TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        return tls
    }

    private func configuration() throws -> HTTPClient.Configuration {
        var tls = Self.standardTLS
        if let own = try certificateFile?.certificates() {
            if CertificateFile.systemHasAuthorities {
                tls.additionalTrustRoots = [.certificates(own)]
            } else {
                tls.trustRoots = .certificates(own)
            }
        }
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls)
        configuration.redirectConfiguration = .disallow
        configuration.httpVersion = .http1Only
        configuration.http1_1ConnectionDebugInitializer = { AnswerGuard.install(in: $0) }
        configuration.connectionPool.retryConnectionEstablishment = false
        // Many servers close connections after 5 seconds. With less time, a request does not meet a closed connection.
        configuration.connectionPool.idleTimeout = .seconds(4)
        // Each request has its own limit, see `send`. This one only ends connections that no request waits for.
        configuration.timeout.connect = .seconds(60)
        return configuration
    }
}
