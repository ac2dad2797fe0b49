/// Sees what the rules and lanes do, for the figures of the service. A conformer must not block.
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
}
