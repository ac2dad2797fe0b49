internal import Logging
internal import ServiceLifecycle

/// The service that deletes unfinished keys, and destroys keys that were locked for too long. Calls for such a key are
/// refused before, so this only erases what nobody can use.
struct SweepService: Service {
    private static let interval = Duration.seconds(3600)

    let store: any KeyRecordOperations
    let destroyAfter: Int64
    let now: @Sendable () -> Int64
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await sweep()
                try? await Task.sleep(for: Self.interval)
            }
        }
    }

    private func sweep() async {
        do {
            let time = now()
            let (deleted, destroyed) = try await store.sweep(
                unfinishedSince: time - ObliviousKey.unfinishedLifetime, lockedSince: time - destroyAfter)
            if deleted + destroyed > 0 {
                logger.info("Swept keys deleted_unfinished=\(deleted) destroyed_locked=\(destroyed)")
            }
        } catch {
            logger.warning("Old keys could not be erased. The next try is in an hour. \(error)")
        }
    }
}
