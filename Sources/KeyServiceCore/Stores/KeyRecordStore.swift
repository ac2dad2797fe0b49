/// The store of the keys, for the running service.
///
/// A conformer must not answer from a cache: other instances of the service use the same store, and an operator may
/// unlock or delete keys. It must not assume that the process ends in an orderly way. ``KeyRecordOperations`` has the
/// operator's calls.
package protocol KeyRecordStore: Sendable {
    /// The number of batches that may be under way at a time, at least 1. All updates of one key use the same lane, one
    /// batch after the other.
    var lanes: Int { get }

    /// Carries out the updates in order, and returns when they survive a crash of the machine. It may block: the
    /// service calls it on a thread of the lane.
    ///
    /// An update that fails does not make the others fail. If the connection to a database breaks, a store may carry
    /// out the updates again.
    ///
    /// - Parameters:
    ///   - updates: the updates, of different keys or of one.
    ///   - lane: the number of the lane, from 0.
    ///   - deadline: after this time nobody waits for an outcome.
    /// - Returns: for each update, in the same order, its success, the error that it threw, or a
    ///   ``KeyServiceServerError`` with code `busy`, `storeUnusable` or `storeTooNew`. After ``KeyServiceServerError``
    ///   with ``KeyServiceServerError/isOutcomeUnknown`` the update may have happened.
    func commit(_ updates: [KeyUpdate], lane: Int, deadline: ContinuousClock.Instant) async -> [Result<Void, any Error>]

    /// Notes a running server, as a proof that writing works, moves ``StoreState/clock`` on, and adds 1 to the
    /// generation. It may block as ``commit(_:lane:deadline:)``.
    ///
    /// - Parameters:
    ///   - checkIn: the server. A database with a clock of its own uses that clock instead of the server's.
    ///   - deadline: after this time nobody waits for the answer.
    /// - Throws: ``KeyServiceServerError`` with code `busy`, `storeUnusable` or `storeTooNew`.
    func checkIn(_ checkIn: ServerCheckIn, deadline: ContinuousClock.Instant) async throws -> StoreState

    /// Ends the use of the store. Every later call fails. A conformer need not wait for calls under way.
    func close()
}

extension KeyRecordStore {
    /// One batch at a time.
    package var lanes: Int { 1 }
    /// Does nothing.
    package func close() {}
}

/// An update of one key: a store reads the key, lets the update change it, and writes the difference.
package struct KeyUpdate: Sendable {
    /// What an update may do.
    package enum Purpose: Sendable, Hashable {
        /// Reads the key. Nothing is written.
        case read
        /// Changes a key, or deletes it.
        case change
        /// May also add a key. A store with a nearly full disk refuses to.
        case add
    }

    /// The id of the key, as clients send it.
    package let keyID: String
    /// What the update may do.
    package let purpose: Purpose
    /// Changes the key; nil stands for no key.
    ///
    /// A store may call it several times for one update, and drop all results but the last. If it throws, nothing is
    /// written, and its error is the outcome. If it returns, the key is durable as it is now before the outcome: an
    /// answer must not rest on a change of another instance that a failing database may lose.
    package let apply: @Sendable (inout StoredKey?, GuessLimits) throws -> Void

    /// Makes an update.
    package init(
        _ keyID: String, _ purpose: Purpose = .change,
        _ apply: @escaping @Sendable (inout StoredKey?, GuessLimits) throws -> Void
    ) {
        self.keyID = keyID
        self.purpose = purpose
        self.apply = apply
    }
}
