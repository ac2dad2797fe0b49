internal import KeyServiceCore
internal import Logging
internal import ServiceLifecycle

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
