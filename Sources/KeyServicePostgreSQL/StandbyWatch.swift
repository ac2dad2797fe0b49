#if PostgreSQL
    internal import KeyServiceCore
    internal import VaultBase

    /// The watch for standbys that appear while the service runs, and may lack the last charges.
    ///
    /// Such a standby is often new, and its operator is about to make it synchronous. So the service only warns at
    /// first, and stores nothing more after ``limit``. A failover before that may forget the charges of this time.
    final class StandbyWatch: Sendable {
        /// The time in which the service goes on beside an asynchronous standby.
        static let limit = Duration.seconds(600)

        private struct Sighting {
            let timeline: String
            let since: ContinuousClock.Instant
            /// The first check without such a standby after the last one with it.
            var goneSince: ContinuousClock.Instant?
        }

        private let observer: (any KeyServiceObserver)?
        private let warn: @Sendable (String) -> Void
        private let now: @Sendable () -> ContinuousClock.Instant
        private let sighting = Lock<Sighting?>(nil)

        init(
            observer: (any KeyServiceObserver)? = nil, warn: @escaping @Sendable (String) -> Void,
            now: @escaping @Sendable () -> ContinuousClock.Instant
        ) {
            self.observer = observer
            self.warn = warn
            self.now = now
        }

        /// Notes a check of the server.
        ///
        /// - Throws: `unfit` if an asynchronous standby is there, and was seen first ``limit`` ago or earlier.
        func note(_ check: ReplicationCheck) throws(DatabaseFailure) {
            observer?.asynchronousStandbys(check.asynchronousStandbys)
            guard check.asynchronousStandbys > 0 else {
                let time = now()
                return sighting.withLock { sighting in
                    if sighting?.goneSince == nil { sighting?.goneSince = time }
                }
            }
            if begins(check.timeline) {
                warn(
                    """
                    The database has an asynchronous standby. After a failover to it, the last wrong guesses would not \
                    be counted. \(check.isBlind ? ReplicationCheck.blindness + " " : "")Make the standby synchronous \
                    within \(Self.limit.components.seconds / 60) minutes: set synchronous_standby_names in \
                    postgresql.conf. After that, the service refuses all guesses.
                    """)
            }
            if isOver { throw check.refusal }
        }

        /// The reason why nothing may be stored at the moment; nil for none.
        var refusal: KeyServiceServerError? {
            isOver ? KeyServiceServerError(.busy, "The database still has an asynchronous standby.") : nil
        }

        /// Notes that a standby is there.
        ///
        /// - Returns: whether its time begins now. A standby that was away for a moment goes on with its time. After a
        ///   failover, the operator needs time again: another server has other standbys.
        private func begins(_ timeline: String) -> Bool {
            let time = now()
            return sighting.withLock { sighting in
                if var known = sighting, known.timeline == timeline,
                    known.goneSince.map({ $0.duration(to: time) < Self.limit }) ?? true
                {
                    known.goneSince = nil
                    sighting = known
                    return false
                }
                sighting = Sighting(timeline: timeline, since: time)
                return true
            }
        }

        private var isOver: Bool {
            let time = now()
            return sighting.withLock { sighting in
                guard let sighting, sighting.goneSince == nil else { return false }
                return sighting.since.duration(to: time) >= Self.limit
            }
        }
    }
#endif
