internal import Foundation
internal import KeyServiceCore
internal import Logging
internal import NIOSSL
internal import ServiceLifecycle
internal import VaultBase

package struct TLSFiles: Sendable {
    /// The certificate and its chain, in PEM.
    package var certificate: String
    /// The private key of the certificate, in PEM. Other users must not read it.
    package var key: String
    /// Whether systemd made the file of the key (`$CREDENTIALS_DIRECTORY`). The permissions of the group then show its
    /// access list.
    package var isKeyCredential = false
    /// The authorities of clients, in PEM. If set, each client needs a certificate from one of these authorities.
    package var clientCA: String?
    /// Whether clients may use TLS 1.2. Otherwise TLS 1.3 is needed.
    package var allowsTLS12 = false

    /// Makes the settings for TLS 1.3 without certificates of clients.
    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}

/// The certificate of the service. New connections use the last one that was read without an error.
final class ServerCertificate: Sendable {
    /// The values of a file that change with a new file.
    private struct Stamp: Equatable {
        let number: Int?
        let size: Int?
        let changed: Date?
    }

    private struct State {
        var context: NIOSSLContext
        /// The end of the certificate, in seconds since 1970.
        var end: Int
        var stamps: [Stamp?]
    }

    private let files: TLSFiles
    private let metrics: KeyServiceMetrics
    private let state: Lock<State>

    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid`, which names the bad file.
    init(_ files: TLSFiles, metrics: KeyServiceMetrics) throws {
        self.files = files
        self.metrics = metrics
        let stamps = Self.stamps(files)
        let (context, end) = try Self.load(files)
        state = Lock(State(context: context, end: end, stamps: stamps))
        metrics.certificateEnds(at: end)
    }

    var context: NIOSSLContext { state.withLock { $0.context } }

    var hasExpired: Bool { state.withLock { $0.end } <= Int(Date().timeIntervalSince1970) }

    /// Reads the files again.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid`. Then the old certificate stays.
    func reload() throws {
        let stamps = Self.stamps(files)
        state.withLock { $0.stamps = stamps }
        let (context, end) = try Self.load(files)
        guard end > Int(Date().timeIntervalSince1970) else {
            throw KeyServiceServerError(.configurationInvalid, "The certificate in \(files.certificate) has expired.")
        }
        state.withLock { ($0.context, $0.end) = (context, end) }
        metrics.certificateEnds(at: end)
    }

    /// Reads the files again if one of them has changed. It tries each change once.
    func reloadIfChanged() throws -> Bool {
        guard Self.stamps(files) != state.withLock({ $0.stamps }) else { return false }
        try reload()
        return true
    }

    private static func stamps(_ files: TLSFiles) -> [Stamp?] {
        [files.certificate, files.key, files.clientCA].map { path in
            guard let path, let file = try? FileManager.default.attributesOfItem(atPath: resolved(path)) else {
                return nil
            }
            return Stamp(
                number: file[.systemFileNumber] as? Int, size: file[.size] as? Int,
                changed: file[.modificationDate] as? Date)
        }
    }

    /// Follows symbolic links, which certbot and Kubernetes change instead of the files.
    private static func resolved(_ path: String) -> String {
        URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    }

    /// Returns the context for new connections, and the end of the certificate in seconds since 1970.
    private static func load(_ files: TLSFiles) throws -> (context: NIOSSLContext, end: Int) {
        let chain = try certificates(files.certificate)
        try PrivateFile.requirePrivate(
            path: files.key, kind: S_IFREG, forbidden: files.isKeyCredential ? 0o007 : 0o077, ifMissing: .nameTLSKey)
        let key: NIOSSLPrivateKey
        do {
            key = try NIOSSLPrivateKey(file: files.key, format: .pem)
        } catch {
            throw KeyServiceServerError(.configurationInvalid, "\(files.key) has no private key in PEM.")
        }
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        tls.minimumTLSVersion = files.allowsTLS12 ? .tlsv12 : .tlsv13
        tls.applicationProtocols = ["http/1.1"]
        if let clientCA = files.clientCA {
            tls.trustRoots = .certificates(try certificates(clientCA))
            // A client has no host name to check.
            tls.certificateVerification = .noHostnameVerification
        }
        do {
            return (try NIOSSLContext(configuration: tls), Int(chain.first?.notValidAfter ?? 0))
        } catch {
            throw KeyServiceServerError(
                .configurationInvalid,
                "The key in \(files.key) does not belong to the certificate in \(files.certificate).")
        }
    }

    private static func certificates(_ path: String) throws -> [NIOSSLCertificate] {
        let found = try? NIOSSLCertificate.fromPEMFile(path)
        guard let found, !found.isEmpty else {
            throw KeyServiceServerError(.configurationInvalid, "\(path) has no certificate in PEM.")
        }
        return found
    }
}

/// The service that reads the certificate again when its files change.
struct CertificateWatch: Service {
    let certificate: ServerCertificate
    let logger: Logger
    /// Says an error in the log.
    var explain: @Sendable (any Error) -> String = { "\($0)" }
    /// The time between two looks at the files.
    let interval: Duration

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: interval)) != nil {
                do {
                    if try certificate.reloadIfChanged() { logger.notice("The certificate was read again") }
                } catch {
                    logger.error("The certificate was not read again", metadata: ["error": "\(explain(error))"])
                }
            }
        }
    }
}
