internal import KeyServiceAudit
internal import KeyServiceCore
internal import Logging
internal import ServiceLifecycle

/// The service that deletes unfinished keys, destroys keys that were locked for too long, and ends keys that nobody
/// claimed in time. Calls for an unfinished or locked key are refused before. A key that nobody claimed works until this
/// service ends it, at most an hour late.
struct SweepService: Service {
    private static let interval = Duration.seconds(3600)

    let store: any KeyRecordOperations
    let destroyAfter: Int64
    /// Whether keys that nobody claimed in time are ended.
    let endsUnclaimedKeys: Bool
    let metrics: KeyServiceMetrics
    let audit: AuditLog?
    let now: @Sendable () -> Int64
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await sweep()
                if endsUnclaimedKeys { await endUnclaimedKeys() }
                try? await Task.sleep(for: Self.interval)
            }
        }
    }

    private func sweep() async {
        do {
            let time = now()
            let (deleted, destroyed) = try await store.sweep(
                unfinishedSince: time - StoredKey.unfinishedLifetime, lockedSince: time - destroyAfter)
            if deleted + destroyed > 0 {
                logger.info("Swept keys deleted_unfinished=\(deleted) destroyed_locked=\(destroyed)")
            }
        } catch {
            logger.warning("Old keys could not be erased. The next try is in an hour. \(error)")
        }
    }

    private func endUnclaimedKeys() async {
        do {
            let count = try await store.endUnclaimedKeys(since: now() - StoredKey.unclaimedLifetime)
            guard count > 0 else { return }
            metrics.unclaimedKeysEnded(count)
            logger.info("Ended keys unclaimed=\(count)")
            try? await audit?.record([AuditEvent(.unclaimedKeysEnded, count: count)])
        } catch {
            logger.warning("Unclaimed keys could not be ended. The next try is in an hour. \(error)")
        }
    }
}
