internal import Logging
internal import ServiceLifecycle

/// Reads the certificate again when its files change, and says so in the log.
struct CertificateWatch: Service {
    let certificate: ServerCertificate
    let logger: Logger
    /// The time between two looks at the files.
    let interval: Duration

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: interval)) != nil {
                do {
                    if try certificate.reloadIfChanged() { logger.notice("The certificate was read again") }
                } catch {
                    logger.error("The certificate was not read again", metadata: ["error": "\(error)"])
                }
            }
        }
    }
}
