internal import KeyServiceAudit
internal import KeyServiceCore
internal import Logging
internal import ServiceLifecycle

/// Writes the first and the last line of a server's run, and an anchor every ten minutes.
struct AuditService: Service {
    static let anchorInterval = Duration.seconds(600)

    let log: AuditLog

    func run() async throws {
        try? await log.recordDurably(AuditEvent(.serverStarted))
        log.logAnchor()
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: Self.anchorInterval)) != nil { log.logAnchor() }
        }
        try? await log.recordDurably(AuditEvent(.serverStopped))
        log.logAnchor()
    }
}
