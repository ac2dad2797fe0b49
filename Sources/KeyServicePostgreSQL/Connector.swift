#if PostgreSQL
    internal import Foundation

    /// Makes a connection to the server that accepts writes now, and another one after a failure.
    struct Connector {
        /// The longest wait for one server.
        private static let timeout = Duration.seconds(2)
        /// The first and the longest pause between two tries.
        private static let pauses = (first: Duration.milliseconds(50), longest: Duration.seconds(1))

        private let url: DatabaseURL
        /// The server that accepted writes last.
        private var preferred = 0
        private var current: Connection?
        /// Whether a rejection is final, as no server let this process in so far.
        private var givesUp: Bool

        /// - Parameter isFirst: whether this process has had no connection yet.
        init(_ url: DatabaseURL, isFirst: Bool = false) {
            self.url = url
            givesUp = isFirst
        }

        /// Returns a connection that works, as far as this side knows.
        ///
        /// - Throws: the failure of the last try, at the deadline. At once for a server of a wrong kind, and at first
        ///   also for a rejection.
        mutating func connection(deadline: ContinuousClock.Instant) throws(DatabaseFailure) -> Connection {
            if let current {
                if current.isAlive() { return current }
                self.current = nil
            }
            var pause = Self.pauses.first
            while true {
                let failure: DatabaseFailure
                do throws(DatabaseFailure) {
                    let connection = try connect(deadline: deadline)
                    current = connection
                    givesUp = false
                    return connection
                } catch {
                    switch error {
                    case .connection: failure = error
                    // In the middle of a failover, a server may lack settings for a moment.
                    case .rejected(let message) where !givesUp: failure = .connection(message)
                    default: throw error
                    }
                }
                // Different lanes and instances must not all come at the same moment.
                let wait = pause * Double.random(in: 0.5...1)
                guard .now + wait < deadline else { throw failure }
                usleep(UInt32(wait / .microseconds(1)))
                pause = min(pause * 2, Self.pauses.longest)
            }
        }

        /// Forgets a connection after a failure.
        mutating func close() {
            current = nil
        }

        private mutating func connect(deadline: ContinuousClock.Instant) throws(DatabaseFailure) -> Connection {
            var failure = DatabaseFailure.timedOut
            for offset in url.servers.indices {
                let index = (preferred + offset) % url.servers.count
                do throws(DatabaseFailure) {
                    let connection = try Connection(
                        url.servers[index], url.libpq, deadline: min(deadline, .now + Self.timeout))
                    preferred = index
                    return connection
                } catch {
                    switch (error, failure) {
                    case (.connection, .rejected): break
                    case (.connection, _), (.rejected, _): failure = error
                    default: throw error
                    }
                }
            }
            throw failure
        }
    }
#endif
