public import Foundation
public import KeyServiceClient
internal import VaultBase
public import VaultCrypto
internal import VaultHTTP
public import VaultStorage

/// A key service of protocol version 2 in memory, with the real states of a key.
public final class InMemoryOPRFKeyService: OPRFKeyService {
    /// A call that arrived.
    @nonexhaustive
    public enum Call: Hashable, Sendable {
        /// The question for the versions.
        case versions
        /// The creation of a key.
        case create(id: String)
        /// A guess, with its blinded element.
        case evaluate(id: String, blinded: [UInt8])
        /// A confirm of guesses, with their tickets.
        case confirm(id: String, tickets: [[UInt8]])
        /// The end of a key.
        case end(id: String)
        /// The claim of a key by its owner.
        case claim(id: String)
        /// The question for the owner's keys.
        case listDevices
        /// Another label for a key.
        case renameDevice(id: String)
        /// The end of a key by its owner.
        case revokeDevice(id: String)
        /// The unlock of a key by its owner.
        case unlockDevice(id: String)
    }

    enum Condition { case new, live, ended, revoked, destroyed }

    final class Secrets: Sendable {
        let key: SecretBytes
        let requestKey: SharedSecret

        init(requestKey: SharedSecret) throws {
            key = try OPRF.randomKey()
            self.requestKey = requestKey
        }
    }

    struct Guess {
        let blinded: RistrettoElement
        let ticket: [UInt8]
        let date: Date
    }

    struct Record {
        let secrets: Secrets
        let creation: NewOPRFKey
        var condition = Condition.new
        var confirmKey: [UInt8] = []
        var open: [Guess]
        var owner: AccountID?
        var label: [UInt8]?
        var createdAt: Date
        var lastUsedAt: Date?
        var ownerUnlockedAt: Date?
    }

    struct State {
        var records: [String: Record] = [:]
        var calls: [Call] = []
        var evaluated: [String: Set<[UInt8]>] = [:]
        var isReachable = true
        var versions: Set<Int> = [2]
        var losesConfirms = false
        var lostAnswers = 0
        var busyAnswers = 0
        var rogueKey: SharedSecret?
        var identity: Identity?
        var impostor: Identity?
        var hasIdentity = true
        var clockOffset: TimeInterval = 0
        var owner: (@Sendable (_ accessToken: String) -> AccountID?)?
        var endsUnclaimedKeys = false
        var allowsOwnerUnlock = false
    }

    let state = Lock(State())
    let maxGuesses: Int
    private let busyTime: TimeInterval
    private let clock: @Sendable () -> Date

    /// - Parameters:
    ///   - maxGuesses: the most open guesses of a key.
    ///   - busyTime: the time in seconds after a guess in which a full key is busy, and not yet locked. 0 for a test
    ///     whose clock stands still.
    ///   - now: the time of the service.
    public init(
        maxGuesses: Int = 3, busyTime: TimeInterval = 10, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.maxGuesses = maxGuesses
        self.busyTime = busyTime
        clock = now
    }

    // MARK: - What a test sets and sees

    /// Whether it answers. Set it to false to simulate an outage.
    public var isReachable: Bool {
        get { state.withLock { $0.isReachable } }
        set { state.withLock { $0.isReachable = newValue } }
    }

    /// The answer of ``protocolVersions()``. Empty for a service that does not know this question.
    public var versions: Set<Int> {
        get { state.withLock { $0.versions } }
        set { state.withLock { $0.versions = newValue } }
    }

    /// Whether confirmations of live keys do not arrive.
    public var losesConfirms: Bool {
        get { state.withLock { $0.losesConfirms } }
        set { state.withLock { $0.losesConfirms = newValue } }
    }

    /// The number of next calls that are carried out, but whose answers are lost.
    public var lostAnswers: Int {
        get { state.withLock { $0.lostAnswers } }
        set { state.withLock { $0.lostAnswers = newValue } }
    }

    /// The number of next evaluations that are refused as busy.
    public var busyAnswers: Int {
        get { state.withLock { $0.busyAnswers } }
        set { state.withLock { $0.busyAnswers = newValue } }
    }

    /// Whether it evaluates with another key than the right one, as a thief's server would.
    public var isRogue: Bool {
        get { state.withLock { $0.rogueKey != nil } }
        set { state.withLock { $0.rogueKey = newValue ? try? SharedSecret(OPRF.randomKey()) : nil } }
    }

    /// The difference of the service's clock to the right time, in seconds.
    public var clockOffset: TimeInterval {
        get { state.withLock { $0.clockOffset } }
        set { state.withLock { $0.clockOffset = newValue } }
    }

    /// A function that returns the account of an access token, or nil to refuse the token. Without a function, the
    /// service keeps no lists of devices.
    public var accessTokenOwner: (@Sendable (_ accessToken: String) -> AccountID?)? {
        get { state.withLock { $0.owner } }
        set { state.withLock { $0.owner = newValue } }
    }

    /// Whether it says that a new key ends after a day without a claim. ``endUnclaimedKeys()`` ends such keys.
    public var endsUnclaimedKeys: Bool {
        get { state.withLock { $0.endsUnclaimedKeys } }
        set { state.withLock { $0.endsUnclaimedKeys = newValue } }
    }

    /// The answer of ``allowsOwnerUnlock()``. Every access token counts as one of a fresh sign-in.
    public var letsOwnersUnlock: Bool {
        get { state.withLock { $0.allowsOwnerUnlock } }
        set { state.withLock { $0.allowsOwnerUnlock = newValue } }
    }

    /// Ends the live keys that nobody claimed, as the service does after a day.
    public func endUnclaimedKeys() {
        state.withLock { state in
            for (id, record) in state.records where record.owner == nil && record.condition == .live {
                state.records[id]?.condition = .ended
                state.records[id]?.open = []
            }
        }
    }

    /// All calls that arrived, oldest first.
    public var calls: [Call] { state.withLock { $0.calls } }

    /// The keys that some secret can still open.
    public var liveKeys: Set<String> {
        state.withLock { state in
            Set(state.records.filter { $0.value.condition == .live && $0.value.open.count < maxGuesses }.keys)
        }
    }

    /// The number of different elements of a key that were evaluated.
    public func evaluations(of id: String) -> Int { state.withLock { $0.evaluated[id]?.count ?? 0 } }

    /// The number of open guesses of a key.
    public func openGuesses(of id: String) -> Int { state.withLock { $0.records[id]?.open.count ?? 0 } }

    /// Revokes a key, as the owner does from another machine.
    public func revoke(_ id: String) { finish(id, .revoked) }

    /// Gives a key all its guesses back, as its operator can.
    public func unlock(_ id: String) { state.withLock { $0.records[id]?.open = [] } }

    /// Destroys a key, as the service does after a long lock.
    public func destroy(_ id: String) { finish(id, .destroyed) }

    /// Makes a key live again, as a service whose database was put back does.
    public func restore(_ id: String) { finish(id, .live) }

    /// Forgets a key, as a service whose database was put back does.
    public func forget(_ id: String) { state.withLock { $0.records[id] = nil } }

    /// Forgets every key.
    public func deleteAllKeys() { state.withLock { $0.records = [:] } }

    private func finish(_ id: String, _ condition: Condition) {
        state.withLock { state in
            state.records[id]?.condition = condition
            state.records[id]?.open = []
        }
    }

    // MARK: - The calls

    /// Answers ``versions``.
    ///
    /// - Throws: ``KeyServiceError`` with code `unavailable` while ``isReachable`` is false.
    public func protocolVersions() async throws -> Set<Int> {
        try state.withLock { state in
            try Self.begin(.versions, &state)
            return state.versions
        }
    }

    /// Makes a key with one open guess.
    ///
    /// - Throws: ``KeyServiceError``: `unavailable`; `invalidAnswer` if another key has the id.
    public func createKey(_ key: NewOPRFKey) async throws -> FirstEvaluation {
        let secrets = try Secrets(requestKey: key.requestKey)
        let ticket = OPRFDerivation.ticket(key.id, key.blinded)
        return try state.withLock { state in
            try Self.begin(.create(id: key.id), &state)
            if let record = state.records[key.id] {
                guard record.condition == .new, record.creation.endKey == key.endKey,
                    record.creation.blinded == key.blinded,
                    record.secrets.requestKey.bytes.isEqual(to: key.requestKey.bytes)
                else { throw KeyServiceError(.invalidAnswer, "Another key has this id.") }
            } else {
                state.records[key.id] = Record(
                    secrets: secrets, creation: key,
                    open: [Guess(blinded: key.blinded, ticket: ticket, date: now(state))], label: key.label,
                    createdAt: now(state))
            }
            guard let record = state.records[key.id] else { throw Self.unknown }
            let element = try evaluate(key.blinded, of: record, in: state)
            try Self.end(&state)
            let answer = FirstEvaluation(
                element: element, ticket: record.open[0].ticket, claimWithin: Self.claimTime(state))
            return try signed(answer, of: key, &state)
        }
    }

    /// Evaluates a guess.
    ///
    /// - Throws: ``KeyServiceError``: `noSuchKey`, `clock`, `keyEnded`, `keyRevoked`, `keyDestroyed`, `unfinished`,
    ///   `busy`, `keyLocked`, `unavailable`.
    public func evaluate(
        _ id: String, _ blinded: RistrettoElement, requestKey: borrowing SecretBytes, at date: Date
    ) async throws -> Evaluation {
        let ticket = OPRFDerivation.ticket(id, blinded)
        let given = SharedSecret(try requestKey.copy())
        return try state.withLock { state in
            try Self.begin(.evaluate(id: id, blinded: blinded.bytes), &state)
            guard var record = state.records[id], record.secrets.requestKey.bytes.isEqual(to: given.bytes) else {
                throw Self.unknown
            }
            let now = now(state)
            guard abs(date.timeIntervalSince(now)) <= 300 else {
                throw KeyServiceError(.clock, "The clocks differ.", serviceTime: now)
            }
            try Self.requireNotOver(record)
            guard record.condition != .new else { throw KeyServiceError(.unfinished, "The key is not finished.") }
            if state.busyAnswers > 0 {
                state.busyAnswers -= 1
                throw KeyServiceError(.busy, "The key service is busy.")
            }
            if !record.open.contains(where: { $0.blinded == blinded }) {
                guard record.open.count < maxGuesses else {
                    let isYoung = record.open.contains { now.timeIntervalSince($0.date) < busyTime }
                    throw isYoung
                        ? KeyServiceError(.busy, "The key service is busy.")
                        : KeyServiceError(.keyLocked, "The key is locked.")
                }
                record.open.append(Guess(blinded: blinded, ticket: ticket, date: now))
            }
            state.records[id] = record
            state.evaluated[id, default: []].insert(blinded.bytes)
            let element = try evaluate(blinded, of: record, in: state)
            guard let mine = record.open.first(where: { $0.blinded == blinded }) else { throw Self.unknown }
            try Self.end(&state)
            return Evaluation(
                element: element, ticket: mine.ticket, guessesRemaining: max(0, maxGuesses - record.open.count),
                open: record.open.map { .init(ticket: $0.ticket, date: $0.date) },
                ownerUnlockedAt: record.ownerUnlockedAt)
        }
    }

    /// Removes the named guesses.
    ///
    /// - Throws: ``KeyServiceError``: `noSuchKey` for a wrong signature, `keyEnded`, `keyRevoked`, `keyDestroyed`,
    ///   `invalidAnswer` for another confirm key, `unavailable`.
    public func confirm(_ confirmation: KeyConfirmation) async throws {
        try state.withLock { state in
            guard !state.losesConfirms || confirmation.installation != nil else { throw Self.outage }
            try Self.begin(.confirm(id: confirmation.id, tickets: confirmation.tickets), &state)
            guard var record = state.records[confirmation.id] else { throw Self.unknown }
            try Self.requireNotOver(record)
            if record.condition == .new {
                guard confirmation.isInstalled(by: record.creation.endKey), let installation = confirmation.installation
                else { throw Self.unknown }
                record.confirmKey = installation.confirmKey
            }
            guard confirmation.isSigned(by: record.confirmKey) else { throw Self.unknown }
            if let other = confirmation.installation?.confirmKey, other != record.confirmKey {
                throw KeyServiceError(.invalidAnswer, "The key has another confirm key.")
            }
            record.condition = .live
            record.lastUsedAt = now(state)
            record.open.removeAll { confirmation.tickets.contains($0.ticket) }
            state.records[confirmation.id] = record
            try Self.end(&state)
        }
    }

    /// Ends a key.
    ///
    /// - Throws: ``KeyServiceError``: `noSuchKey` for a wrong signature, `unavailable`.
    public func endKey(id: String, signature: [UInt8]) async throws {
        try state.withLock { state in
            try Self.begin(.end(id: id), &state)
            guard let record = state.records[id], OPRFDerivation.ends(id, signature, by: record.creation.endKey) else {
                throw Self.unknown
            }
            switch record.condition {
            case .new: state.records[id] = nil
            case .live:
                state.records[id]?.condition = .ended
                state.records[id]?.open = []
            default: break
            }
            try Self.end(&state)
        }
    }

    // MARK: - The parts

    /// The time in seconds after which an unclaimed key ends; nil if unclaimed keys stay.
    static func claimTime(_ state: State) -> Int64? {
        state.endsUnclaimedKeys && state.owner != nil ? 86_400 : nil
    }

    func now(_ state: State) -> Date { clock() + state.clockOffset }

    private func evaluate(
        _ blinded: RistrettoElement, of record: Record, in state: State
    ) throws -> RistrettoElement {
        if let rogue = state.rogueKey { return try OPRF.evaluate(blinded, key: rogue.bytes) }
        return try OPRF.evaluate(blinded, key: record.secrets.key)
    }

    private static func requireNotOver(_ record: Record) throws {
        switch record.condition {
        case .new, .live: break
        case .ended: throw KeyServiceError(.keyEnded, "The key was ended.")
        case .revoked: throw KeyServiceError(.keyRevoked, "This device was revoked.")
        case .destroyed: throw KeyServiceError(.keyDestroyed, "The key service destroyed the key.")
        }
    }

    static func begin(_ call: Call, _ state: inout State) throws {
        guard state.isReachable else { throw outage }
        state.calls.append(call)
    }

    private static func end(_ state: inout State) throws {
        guard state.lostAnswers > 0 else { return }
        state.lostAnswers -= 1
        throw KeyServiceError(
            .unavailable, "The key service does not answer.",
            underlying: HTTPError(.interrupted, authority: "keys.example"))
    }

    static let outage = KeyServiceError(.unavailable, "The key service does not answer.")
    static let unknown = KeyServiceError(.noSuchKey, "The key service does not know this key.")
}
