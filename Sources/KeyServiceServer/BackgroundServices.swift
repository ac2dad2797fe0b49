internal import KeyServiceAudit
internal import KeyServiceCore
internal import Logging
internal import ServiceLifecycle

// What runs beside the requests. The listeners end first.

/// The service that raises the high-water mark, and makes the last changes durable before the process ends.
/// Services end in reverse order, so the server has answered its last request by then.
struct CommitService: Service {
    let commits: GroupCommit
    let watch: StoreWatch
    let control: KeyServiceControl
    let logger: Logger
    let explain: @Sendable (any Error) -> String

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            do {
                try await watch.run { logger.error("The store is in danger: \(explain($0))") }
            } catch {
                guard control.fail(error) else { throw error }
                // The end comes from outside.
                while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
            }
        }
        await commits.flush()
        try? await watch.checkIn(isLast: true)
    }
}

/// The service that deletes unfinished keys, destroys keys that were locked for too long, and ends keys that nobody
/// claimed in time. Calls for an unfinished or locked key are refused before. A key that nobody claimed works until this
/// service ends it, at most an hour late. While the clock is uncertain, all keys stay.
struct SweepService: Service {
    private static let interval = Duration.seconds(3600)

    let store: any KeyRecordOperations
    let watch: StoreWatch
    let destroyAfter: Int64
    /// Whether keys that nobody claimed in time are ended.
    let endsUnclaimedKeys: Bool
    let metrics: KeyServiceMetrics
    let audit: AuditLog?
    let logger: Logger
    let explain: @Sendable (any Error) -> String

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await eraseOldKeys()
                try? await Task.sleep(for: Self.interval)
            }
        }
    }

    func eraseOldKeys() async {
        guard let time = await certainTime() else { return }
        await sweep(at: time)
        if endsUnclaimedKeys { await endUnclaimedKeys(at: time) }
    }

    /// Returns the time in seconds since 1970; nil if it is uncertain. What a wrong clock erases never comes back.
    private func certainTime() async -> Int64? {
        do {
            let time = try await watch.timeForErasing()
            metrics.clockIsUncertain(false)
            return time
        } catch let error as KeyServiceServerError where error.code == .clockUncertain {
            metrics.clockIsUncertain(true)
            logger.error("The clock is uncertain, so no old keys are erased: \(explain(error))")
        } catch {
            logger.warning("Old keys could not be erased. The next attempt is in an hour. \(error)")
        }
        return nil
    }

    private func sweep(at time: Int64) async {
        do {
            let (deleted, destroyed) = try await store.sweep(
                unfinishedSince: time - StoredKey.unfinishedLifetime, lockedSince: time - destroyAfter)
            if deleted + destroyed > 0 {
                logger.info("Swept keys deleted_unfinished=\(deleted) destroyed_locked=\(destroyed)")
            }
        } catch {
            logger.warning("Old keys could not be erased. The next attempt is in an hour. \(error)")
        }
    }

    private func endUnclaimedKeys(at time: Int64) async {
        do {
            let count = try await store.endUnclaimedKeys(since: time - StoredKey.unclaimedLifetime)
            guard count > 0 else { return }
            metrics.unclaimedKeysEnded(count)
            logger.info("Ended keys unclaimed=\(count)")
            try? await audit?.record([AuditEvent(.unclaimedKeysEnded, count: count)])
        } catch {
            logger.warning("Unclaimed keys could not be ended. The next attempt is in an hour. \(error)")
        }
    }
}

/// Reads the identity again once a second.
struct IdentityService: Service {
    private static let interval = Duration.seconds(1)

    let watch: IdentityWatch

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                try? await Task.sleep(for: Self.interval)
                await watch.look()
            }
        }
    }
}

/// Writes the first and the last line of a server's run. Every ten minutes, writes an anchor, and looks if an operator
/// has added another audit log, whose commands leave no line here.
struct AuditService: Service {
    static let anchorInterval = Duration.seconds(600)

    let log: AuditLog
    /// The store with the list of audit logs; nil for none.
    let store: (any KeyRecordOperations)?

    func run() async throws {
        let atStart = await numberOfLogs()
        try? await log.recordDurably(AuditEvent(.serverStarted, count: atStart > 1 ? atStart : nil))
        log.logAnchor()
        await cancelWhenGracefulShutdown {
            var known = atStart
            while (try? await Task.sleep(for: Self.anchorInterval)) != nil {
                known = await noteAddedLogs(since: known)
                log.logAnchor()
            }
        }
        try? await log.recordDurably(AuditEvent(.serverStopped))
        log.logAnchor()
    }

    /// Writes a line if the service has more audit logs than before.
    ///
    /// - Parameter known: the number of logs before.
    /// - Returns: the number of logs now.
    func noteAddedLogs(since known: Int) async -> Int {
        let count = await numberOfLogs()
        guard count > max(known, 1) else { return known }
        try? await log.record([AuditEvent(.logAdded, count: count)])
        return count
    }

    /// Returns 0 if the store cannot be read now.
    private func numberOfLogs() async -> Int {
        (try? await store?.auditLogs().count) ?? 0
    }
}
