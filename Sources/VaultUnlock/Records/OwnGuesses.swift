internal import KeyServiceClient
internal import VaultCrypto
internal import VaultStorage

/// The record of the guesses of this store at key services of protocol version 2. It tells a person's own guesses from
/// those of a thief, and keeps the confirmations that the service does not have yet.
///
/// A guess is noted by its element, and its ticket follows from that. Nothing in the record is secret. A damaged record
/// counts as an empty one, and so does a record that is far larger than any that this program writes: then the person
/// may be told of an own guess.
struct OwnGuesses: Sendable {
    /// The most guesses of one key that are kept.
    private static let limit = 256
    /// The most confirmations of one key that are kept after the service has them.
    private static let sentLimit = 4
    /// The most tickets that a confirmation repeats from earlier ones.
    static let repeatedTickets = 32

    /// The most keys without a keyslot that are kept.
    private static let newKeyLimit = 8

    private struct Content: RecordContent {
        /// The elements of guesses that no confirmation names, by key.
        var guesses: [String: [[UInt8]]] = [:]
        var waiting: [KeyConfirmation] = []
        /// The last confirmations of each key that the service has, the newest last. Somebody may send a recorded guess
        /// again, and open it once more. These confirmations close it. Logins at the same time make several of them.
        var sent: [String: [KeyConfirmation]] = [:]
        /// The elements among `guesses` that got an authentic answer at once, by key.
        var answered: [String: [[UInt8]]]?
        /// The number of open guesses that locks a key, from the last authentic answer, by key.
        var limits: [String: Int]?
        /// The later questions about young guesses, by key.
        var questions: [String: LaterQuestion]?

        mutating func tidy() {
            // Each signature is checked. A record that somebody changed must not make a login slow.
            sent = sent.mapValues { $0.suffix(OwnGuesses.sentLimit) }
            waiting = waiting.suffix(OwnGuesses.limit)
            guesses = guesses.mapValues { $0.suffix(OwnGuesses.limit) }.filter { !$0.value.isEmpty }
            answered = answered?.filter { guesses[$0.key] != nil }
        }

        mutating func keepOnly(_ keys: Set<String>) {
            guesses = guesses.filter { keys.contains($0.key) }
            waiting.removeAll { !keys.contains($0.id) }
            sent = sent.filter { keys.contains($0.key) }
            answered = answered?.filter { keys.contains($0.key) }
            limits = limits?.filter { keys.contains($0.key) }
            questions = questions?.filter { keys.contains($0.key) }
        }

        /// As ``keepOnly(_:)``, but keeps new keys, too: a key gets its keyslot a moment after its first confirmation.
        mutating func keepOnlyNew(and keys: Set<String>) {
            let new = sent.filter { key, sent in !keys.contains(key) && sent.contains { $0.installation != nil } }
            keepOnly(new.count > OwnGuesses.newKeyLimit ? keys : keys.union(new.keys))
        }

        mutating func noteLimit(_ limit: Int, of key: String) {
            limits = limits ?? [:]
            limits?[key] = limit
        }

        var isEmpty: Bool {
            guesses.values.allSatisfy(\.isEmpty) && waiting.isEmpty && sent.isEmpty && (limits ?? [:]).isEmpty
                && (questions ?? [:]).isEmpty
        }
    }

    private let store: any SecureStore
    private let account: AccountID
    private let record: Record<Content>

    /// Opens the record of one account. Nothing is read yet.
    init(store: any SecureStore, account: AccountID) {
        self.store = store
        self.account = account
        record = Record("own-guesses", of: account, in: store)
    }

    /// Notes a guess before it is sent. The note is durable when this returns.
    func note(_ blinded: RistrettoElement, at key: String) async throws {
        try await change { content in
            content.guesses[key] = ((content.guesses[key] ?? []) + [blinded.bytes]).suffix(Self.limit)
        }
    }

    /// Notes that an authentic answer to a guess arrived.
    ///
    /// - Parameter limit: the number of open guesses that locks the key, as the answer tells.
    func noteAnswer(to blinded: RistrettoElement, at key: String, limit: Int) async throws {
        try await change(mayBeLost: true) { content in
            content.noteLimit(limit, of: key)
            guard content.guesses[key]?.contains(blinded.bytes) == true,
                content.answered?[key]?.contains(blinded.bytes) != true
            else { return }
            content.answered = content.answered ?? [:]
            content.answered?[key, default: []].append(blinded.bytes)
        }
    }

    /// Forgets a guess that the service did not count.
    func forget(_ blinded: RistrettoElement, at key: String) async throws {
        try await change { content in content.guesses[key]?.removeAll { $0 == blinded.bytes } }
    }

    /// Returns the guesses of a key that no confirmation names.
    func unfinished(at key: String) async throws -> UnfinishedGuesses {
        let content = try await content()
        let answered = Set(content.answered?[key] ?? [])
        return UnfinishedGuesses(
            // What is no element was never sent.
            guesses: (content.guesses[key] ?? []).filter { (try? RistrettoElement($0)) != nil }
                .map { .init(element: $0, isAnswered: answered.contains($0)) },
            limit: content.limits?[key].map { min(max($0, 1), Self.limit) })
    }

    /// The tickets of a key that belong to this store.
    struct Tickets {
        /// The tickets that no confirmation names, the newest first.
        let unconfirmed: [[UInt8]]
        /// The tickets of the last confirmations, the newest ones first.
        let confirmed: [[UInt8]]

        /// Whether a ticket belongs to this store.
        func contains(_ ticket: [UInt8]) -> Bool { unconfirmed.contains(ticket) || confirmed.contains(ticket) }
    }

    /// The tickets of a key that belong to this store.
    ///
    /// - Parameter check: the public key of the confirmations. Others were not made here: perhaps a thief put them into
    ///   the store.
    func tickets(at key: String, check: [UInt8]) async throws -> Tickets {
        let content = try await content()
        let confirmations = (content.waiting.reversed() + (content.sent[key] ?? []).reversed()).filter {
            $0.id == key && $0.isSigned(by: check)
        }
        return Tickets(
            unconfirmed: (content.guesses[key] ?? []).reversed().compactMap { Self.ticket(of: $0, at: key) },
            confirmed: Self.alternating(confirmations.map(\.tickets)))
    }

    /// The first ticket of each list, then the second ones, and so on, each ticket once. A confirmation begins with the
    /// ticket of its own guess, and the confirmations of logins at the same time do not name each other's guesses.
    private static func alternating(_ lists: [[[UInt8]]]) -> [[UInt8]] {
        var (tickets, known): ([[UInt8]], Set<[UInt8]>) = ([], [])
        for index in 0..<(lists.map(\.count).max() ?? 0) {
            for list in lists where index < list.count && known.insert(list[index]).inserted {
                tickets.append(list[index])
            }
        }
        return tickets
    }

    private static func ticket(of blinded: [UInt8], at key: String) -> [UInt8]? {
        (try? RistrettoElement(blinded)).map { OPRFDerivation.ticket(key, $0) }
    }

    /// Stores a confirmation until the service has it. All guesses of its key are forgotten, and those of keys that the
    /// account no longer has. The renewal of the tokens, which comes next, makes this durable.
    ///
    /// - Parameters:
    ///   - slots: the keyslots of the account. Confirmations that their keys did not sign are forgotten.
    ///   - limit: the number of open guesses that locks the key, as the answer told.
    ///   - question: a later question about young guesses; nil for none.
    func storing(
        _ confirmation: KeyConfirmation, keeping slots: [Keyslot], limit: Int? = nil, question: LaterQuestion? = nil
    ) -> StoreChange {
        record.changing(mayBeLost: true) { content in
            content.keepOnlyNew(and: Set(slots.map(\.keyID)))
            content.waiting.removeAll { old in
                !slots.contains { $0.keyID == old.id && old.isSigned(by: $0.check) }
            }
            let tickets = Set(confirmation.tickets)
            // Also the guesses that the confirmation does not name. Otherwise elements that somebody wrote here would
            // be named by later confirmations, some by each.
            content.guesses[confirmation.id] = nil
            content.answered?[confirmation.id] = nil
            if let limit { content.noteLimit(limit, of: confirmation.id) }
            if question != nil { content.questions = content.questions ?? [:] }
            content.questions?[confirmation.id] = question
            content.waiting.removeAll { $0.id == confirmation.id && tickets.isSuperset(of: $0.tickets) }
            content.waiting.append(confirmation)
        }
    }

    /// The confirmations that the service does not have yet, oldest first.
    func waiting() async throws -> [KeyConfirmation] { try await content().waiting }

    /// The last confirmations of a key that the service has, the newest last.
    func sent(of key: String) async throws -> [KeyConfirmation] { try await content().sent[key] ?? [] }

    /// Notes that the service has confirmations of one key.
    ///
    /// - Parameter question: the question of a new key; nil for none.
    func noteSent(_ confirmations: [KeyConfirmation], question: LaterQuestion? = nil) async throws {
        let change = record.changing(mayBeLost: true) { content in
            // Nothing is written for an account that was deleted meanwhile. Only a new key needs a new record.
            guard !content.isEmpty || confirmations.contains(where: { $0.installation != nil }) else { return }
            for confirmation in confirmations {
                content.waiting.removeAll { $0 == confirmation }
                let tickets = Set(confirmation.tickets)
                var sent = content.sent[confirmation.id] ?? []
                if !sent.contains(where: { tickets.isSubset(of: $0.tickets) }) {
                    sent.removeAll { tickets.isSuperset(of: $0.tickets) }
                    content.sent[confirmation.id] = (sent + [confirmation]).suffix(Self.sentLimit)
                }
            }
            if let question, let key = confirmations.first?.id {
                content.questions = content.questions ?? [:]
                content.questions?[key] = question
            }
        }
        try await store.apply([change], to: account)
    }

    /// The later questions about young guesses, by key.
    func questions() async throws -> [String: LaterQuestion] { try await content().questions ?? [:] }

    /// Stores the confirmation of a question until the service has it, before the question is asked. So the question's
    /// own guess is closed even if this program dies. The question can be asked again.
    func begin(_ question: LaterQuestion, at key: String) async throws {
        try await change { content in
            if !content.waiting.contains(question.confirmation) { content.waiting.append(question.confirmation) }
        }
    }

    /// Notes that young guesses were judged, so that no other program judges them.
    func noteJudged(by question: LaterQuestion, at key: String) async throws {
        try await change { content in
            guard content.questions?[key]?.element == question.element else { return }
            content.questions?[key]?.judgesGuesses = false
        }
    }

    /// Forgets a question that somebody else wrote.
    func forgetQuestion(at key: String) async throws {
        try await change { $0.questions?[key] = nil }
    }

    /// Forgets all about the keys that the account no longer has.
    func keepOnly(_ keys: Set<String>) async throws {
        try await change { content in content.keepOnly(keys) }
    }

    private func content() async throws -> Content { try await record.content() }

    private func change(
        mayBeLost: Bool = false, _ change: @escaping @Sendable (inout Content) -> Void
    ) async throws {
        try await store.apply([record.changing(mayBeLost: mayBeLost, change)], to: account)
    }
}
