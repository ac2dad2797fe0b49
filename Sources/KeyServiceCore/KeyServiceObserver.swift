/// Sees what the rules, lanes and stores do, for the figures of the service. A conformer must not block.
package protocol KeyServiceObserver: Sendable {
    /// A lane has written a batch.
    ///
    /// - Parameters:
    ///   - changes: the number of updates.
    ///   - duration: the time of the transaction.
    func committed(changes: Int, duration: Duration)

    /// A request runs Argon2 from now on, or waits for it.
    func argon2RequestBegan()

    /// A request no longer needs Argon2.
    func argon2RequestEnded()

    /// A store has counted the asynchronous standbys of its database, which may lack the last changes.
    ///
    /// - Parameter count: the number of standbys; 0 if they are accepted.
    func asynchronousStandbys(_ count: Int)

    /// The service has written to the store, as a check.
    ///
    /// - Parameter time: the written time, in seconds since 1970.
    func checkedIn(at time: Int64)
}
