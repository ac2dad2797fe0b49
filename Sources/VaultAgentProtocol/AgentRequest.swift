/// The account whose session is meant.
package struct AgentAccount: Hashable, Sendable {
    package let issuer: String
    package let subject: String

    package init(issuer: String, subject: String) {
        self.issuer = issuer
        self.subject = subject
    }
}

/// What the servers have said about an account since it was opened.
package struct AgentContact: Hashable, Sendable {
    /// Whether the account is open without the provider.
    package let isOffline: Bool
    /// Whether the provider has confirmed the account.
    package let isConfirmed: Bool
    /// Whether nobody has told that the owner did not revoke this device.
    package let mayBeRevoked: Bool

    package init(isOffline: Bool, isConfirmed: Bool, mayBeRevoked: Bool) {
        self.isOffline = isOffline
        self.isConfirmed = isConfirmed
        self.mayBeRevoked = mayBeRevoked
    }
}

/// The rules for holding a session.
package struct HoldingRules: Hashable, Sendable {
    /// The seconds without a request until the session is locked; 0 for no limit.
    package var idleSeconds: UInt32
    /// The seconds until the session is locked in any case; 0 for no limit.
    package var lifetimeSeconds: UInt32
    /// Whether to lock all other sessions.
    package var isExclusive: Bool

    package init(idleSeconds: UInt32, lifetimeSeconds: UInt32, isExclusive: Bool) {
        self.idleSeconds = idleSeconds
        self.lifetimeSeconds = lifetimeSeconds
        self.isExclusive = isExclusive
    }
}

/// The requirements for a token.
package struct AgentTokenWish: Hashable, Sendable {
    package var isForced = false
    /// The least time for which it must be valid, in seconds.
    package var minimumSeconds: UInt32 = 60
    /// The value of a token that a server refused.
    package var rejected: String?
    /// Unix time of the wish, in seconds.
    package var at: Double = 0
    /// The service that the token is for (RFC 8707); nil for the usual one.
    package var audience: String?

    package init(
        isForced: Bool = false, minimumSeconds: UInt32 = 60, rejected: String? = nil, at: Double = 0,
        audience: String? = nil
    ) {
        self.isForced = isForced
        self.minimumSeconds = minimumSeconds
        self.rejected = rejected
        self.at = at
        self.audience = audience
    }
}

/// A request of a client.
package enum AgentRequest: Hashable, Sendable {
    /// The present token of the account with this name. An empty name stands for the only account. If the agent cannot
    /// answer at once, it answers `notAtHand`.
    case quickToken(user: String, minimumSeconds: UInt32)
    /// The list of accounts, as `vault users` prints it.
    case accountTable
    /// The state of the agent and its sessions.
    case status
    /// Holds a session. Replaces an earlier one of the same account.
    ///
    /// - Parameter locks: the answer to `locks` when the person gave the secret. After a later lock the agent refuses
    ///   the session.
    case hold(AgentAccount, vaultKey: [UInt8], HoldingRules, AgentContact, locks: UInt64)
    /// The state of the session of an account.
    case attach(AgentAccount)
    case token(AgentAccount, AgentTokenWish)
    /// The private key that the tokens are bound to.
    case proofKey(AgentAccount)
    case seal(AgentAccount, item: String, [UInt8])
    case open(AgentAccount, item: String, [UInt8])
    /// Gives the account a PIN, in UTF-8. The ticket is the answer to `check`.
    case setPIN(AgentAccount, [UInt8], ticket: [UInt8])
    /// Locks one session, or all.
    ///
    /// - Parameter isFinal: whether `vault agent unlock` must not open it again.
    case lock(AgentAccount?, isFinal: Bool)
    /// Reports the events of a session, or of all, from now on. The client sends nothing more.
    case watch(AgentAccount?)
    /// Locks all sessions and ends the agent.
    ///
    /// - Parameter isForced: whether to end even if a renewed token cannot be stored. The token is then lost, and the
    ///   answer is `text`.
    case stop(isForced: Bool)
    /// A key for one streamed item, derived from the vault key.
    case streamKey(AgentAccount, item: String)
    /// Asks the provider to revoke the refresh token, and ends the session. The answer is `loggedOut`.
    case logOutEverywhere(AgentAccount)
    /// The provider's address for a logout in the browser.
    case logoutURL(AgentAccount, redirectURI: String?, state: String?)
    /// Opens the account with a typed secret, in UTF-8. The answer is a ticket for `setPIN`.
    case check(AgentAccount, kind: String, [UInt8])
    /// The number of the agent's locks, for `hold`.
    case locks

    private enum Kind: UInt8 {
        case quickToken = 1
        case accountTable, status, hold, attach, token, proofKey, seal, open, setPIN, lock, watch, stop, streamKey
        case logOutEverywhere, logoutURL, check, locks
    }

    /// The message, with its length.
    package var bytes: [UInt8] {
        switch self {
        case .quickToken(let user, let seconds): Self.message(.quickToken, user, seconds)
        case .accountTable: Self.message(.accountTable)
        case .status: Self.message(.status)
        case .hold(let account, let key, let rules, let contact, let locks):
            Self.message(.hold, account, key, rules, contact, locks)
        case .attach(let account): Self.message(.attach, account)
        case .token(let account, let wish): Self.message(.token, account, wish)
        case .proofKey(let account): Self.message(.proofKey, account)
        case .seal(let account, let item, let content): Self.message(.seal, account, item, content)
        case .open(let account, let item, let sealed): Self.message(.open, account, item, sealed)
        case .setPIN(let account, let pin, let ticket): Self.message(.setPIN, account, pin, ticket)
        case .lock(let account, let isFinal): Self.message(.lock, account, isFinal)
        case .watch(let account): Self.message(.watch, account)
        case .stop(let isForced): Self.message(.stop, isForced)
        case .streamKey(let account, let item): Self.message(.streamKey, account, item)
        case .logOutEverywhere(let account): Self.message(.logOutEverywhere, account)
        case .logoutURL(let account, let redirectURI, let state): Self.message(.logoutURL, account, redirectURI, state)
        case .check(let account, let kind, let secret): Self.message(.check, account, kind, secret)
        case .locks: Self.message(.locks)
        }
    }

    private static func message<each Field: MessageField>(_ kind: Kind, _ field: repeat each Field) -> [UInt8] {
        MessageFrame.bytes(kind: kind.rawValue, repeat each field)
    }

    /// - Parameter message: without its length.
    package init(_ message: ArraySlice<UInt8>) throws(AgentProtocolError) {
        var (number, reader) = try MessageFrame.opened(message)
        guard let kind = Kind(rawValue: number) else { throw .malformed }
        self =
            switch kind {
            case .quickToken: .quickToken(user: try reader.read(), minimumSeconds: try reader.read())
            case .accountTable: .accountTable
            case .status: .status
            case .hold:
                .hold(
                    try reader.read(), vaultKey: try reader.read(), try reader.read(), try reader.read(),
                    locks: try reader.read())
            case .attach: .attach(try reader.read())
            case .token: .token(try reader.read(), try reader.read())
            case .proofKey: .proofKey(try reader.read())
            case .seal: .seal(try reader.read(), item: try reader.read(), try reader.read())
            case .open: .open(try reader.read(), item: try reader.read(), try reader.read())
            case .setPIN: .setPIN(try reader.read(), try reader.read(), ticket: try reader.read())
            case .lock: .lock(try reader.read(), isFinal: try reader.read())
            case .watch: .watch(try reader.read())
            case .stop: .stop(isForced: try reader.read())
            case .streamKey: .streamKey(try reader.read(), item: try reader.read())
            case .logOutEverywhere: .logOutEverywhere(try reader.read())
            case .logoutURL:
                .logoutURL(try reader.read(), redirectURI: try reader.read(), state: try reader.read())
            case .check: .check(try reader.read(), kind: try reader.read(), try reader.read())
            case .locks: .locks
            }
        try reader.end()
    }
}

extension AgentAccount: MessageField {
    package init(from reader: inout FieldReader) throws(AgentProtocolError) {
        self.init(issuer: try reader.read(), subject: try reader.read())
    }

    package func write(to writer: inout FieldWriter) { writer.put(issuer, subject) }
}

extension AgentContact: MessageField {
    package init(from reader: inout FieldReader) throws(AgentProtocolError) {
        self.init(
            isOffline: try reader.read(), isConfirmed: try reader.read(), mayBeRevoked: try reader.read())
    }

    package func write(to writer: inout FieldWriter) { writer.put(isOffline, isConfirmed, mayBeRevoked) }
}

extension HoldingRules: MessageField {
    package init(from reader: inout FieldReader) throws(AgentProtocolError) {
        self.init(idleSeconds: try reader.read(), lifetimeSeconds: try reader.read(), isExclusive: try reader.read())
    }

    package func write(to writer: inout FieldWriter) { writer.put(idleSeconds, lifetimeSeconds, isExclusive) }
}

extension AgentTokenWish: MessageField {
    package init(from reader: inout FieldReader) throws(AgentProtocolError) {
        self.init(
            isForced: try reader.read(), minimumSeconds: try reader.read(), rejected: try reader.read(),
            at: try reader.read(), audience: try reader.read())
    }

    package func write(to writer: inout FieldWriter) { writer.put(isForced, minimumSeconds, rejected, at, audience) }
}
