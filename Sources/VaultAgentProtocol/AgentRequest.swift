/// The account whose session is meant.
package struct AgentAccount: Hashable, Sendable {
    package let issuer: String
    package let subject: String

    package init(issuer: String, subject: String) {
        self.issuer = issuer
        self.subject = subject
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
    case hold(AgentAccount, vaultKey: [UInt8], HoldingRules, isOffline: Bool)
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

    private enum Kind: UInt8 {
        case quickToken = 1
        case accountTable, status, hold, attach, token, proofKey, seal, open, setPIN, lock, watch, stop, streamKey
        case logOutEverywhere, logoutURL, check
    }

    /// The message, with its length.
    package var bytes: [UInt8] {
        MessageFrame.bytes(kind: kind.rawValue) { writer in
            switch self {
            case .quickToken(let user, let seconds):
                writer.put(user)
                writer.put(seconds)
            case .accountTable, .status: break
            case .stop(let isForced): writer.put(isForced)
            case .hold(let account, let key, let rules, let isOffline):
                writer.put(account)
                writer.put(key)
                writer.put(rules.idleSeconds)
                writer.put(rules.lifetimeSeconds)
                writer.put(rules.isExclusive)
                writer.put(isOffline)
            case .attach(let account), .proofKey(let account): writer.put(account)
            case .token(let account, let wish):
                writer.put(account)
                writer.put(wish.isForced)
                writer.put(wish.minimumSeconds)
                writer.put(wish.rejected)
                writer.put(wish.at)
                writer.put(wish.audience)
            case .seal(let account, let item, let content), .open(let account, let item, let content):
                writer.put(account)
                writer.put(item)
                writer.put(content)
            case .setPIN(let account, let pin, let ticket):
                writer.put(account)
                writer.put(pin)
                writer.put(ticket)
            case .lock(let account, let isFinal):
                writer.put(account)
                writer.put(isFinal)
            case .watch(let account): writer.put(account)
            case .streamKey(let account, let item):
                writer.put(account)
                writer.put(item)
            case .logOutEverywhere(let account): writer.put(account)
            case .logoutURL(let account, let redirectURI, let state):
                writer.put(account)
                writer.put(redirectURI)
                writer.put(state)
            case .check(let account, let kind, let secret):
                writer.put(account)
                writer.put(kind)
                writer.put(secret)
            }
        }
    }

    private var kind: Kind {
        switch self {
        case .quickToken: .quickToken
        case .accountTable: .accountTable
        case .status: .status
        case .hold: .hold
        case .attach: .attach
        case .token: .token
        case .proofKey: .proofKey
        case .seal: .seal
        case .open: .open
        case .setPIN: .setPIN
        case .lock: .lock
        case .watch: .watch
        case .stop: .stop
        case .streamKey: .streamKey
        case .logOutEverywhere: .logOutEverywhere
        case .logoutURL: .logoutURL
        case .check: .check
        }
    }

    /// - Parameter message: without its length.
    package init(_ message: ArraySlice<UInt8>) throws(AgentProtocolError) {
        var (number, reader) = try MessageFrame.opened(message)
        guard let kind = Kind(rawValue: number) else { throw .malformed }
        self =
            switch kind {
            case .quickToken:
                .quickToken(user: try reader.text(), minimumSeconds: try reader.uint32())
            case .accountTable: .accountTable
            case .status: .status
            case .hold:
                .hold(
                    try reader.account(), vaultKey: Array(try reader.data()),
                    HoldingRules(
                        idleSeconds: try reader.uint32(), lifetimeSeconds: try reader.uint32(),
                        isExclusive: try reader.bool()), isOffline: try reader.bool())
            case .attach: .attach(try reader.account())
            case .token:
                .token(
                    try reader.account(),
                    AgentTokenWish(
                        isForced: try reader.bool(), minimumSeconds: try reader.uint32(),
                        rejected: try reader.optionalText(), at: try reader.double(),
                        audience: try reader.optionalText()))
            case .proofKey: .proofKey(try reader.account())
            case .seal: .seal(try reader.account(), item: try reader.text(), Array(try reader.data()))
            case .open: .open(try reader.account(), item: try reader.text(), Array(try reader.data()))
            case .setPIN: .setPIN(try reader.account(), Array(try reader.data()), ticket: Array(try reader.data()))
            case .lock: .lock(try reader.optionalAccount(), isFinal: try reader.bool())
            case .watch: .watch(try reader.optionalAccount())
            case .stop: .stop(isForced: try reader.bool())
            case .streamKey: .streamKey(try reader.account(), item: try reader.text())
            case .logOutEverywhere: .logOutEverywhere(try reader.account())
            case .logoutURL:
                .logoutURL(
                    try reader.account(), redirectURI: try reader.optionalText(), state: try reader.optionalText())
            case .check: .check(try reader.account(), kind: try reader.text(), Array(try reader.data()))
            }
        try reader.end()
    }
}

extension FieldWriter {
    fileprivate mutating func put(_ account: AgentAccount?) {
        put(account != nil)
        if let account { put(account) }
    }

    mutating func put(_ account: AgentAccount) {
        put(account.issuer)
        put(account.subject)
    }
}

extension FieldReader {
    mutating func account() throws(AgentProtocolError) -> AgentAccount {
        AgentAccount(issuer: try text(), subject: try text())
    }

    mutating func optionalAccount() throws(AgentProtocolError) -> AgentAccount? { try bool() ? account() : nil }
}
