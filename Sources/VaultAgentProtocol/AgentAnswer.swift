package struct AgentToken: Hashable, Sendable {
    package var value: String
    package var tokenType: String
    /// Unix time in seconds; nil if the provider did not say.
    package var expiresAt: Double?
    package var scope: String?
    /// Unix time in seconds.
    package var obtainedAt: Double
    /// Whether the provider has just issued it.
    package var isNew: Bool

    package init(
        value: String, tokenType: String, expiresAt: Double?, scope: String?, obtainedAt: Double, isNew: Bool
    ) {
        self.value = value
        self.tokenType = tokenType
        self.expiresAt = expiresAt
        self.scope = scope
        self.obtainedAt = obtainedAt
        self.isNew = isNew
    }
}

/// The reason why the agent refused a request.
package struct AgentFailure: Hashable, Sendable {
    /// The name of the error's code.
    package var code: String
    /// The text for people.
    package var message: String
    /// What else the error says, by name. A reader ignores names that it does not know.
    package var facts: [String: String]

    package init(code: String, message: String, facts: [String: String] = [:]) {
        self.code = code
        self.message = message
        self.facts = facts
    }
}

/// An event of a session.
package struct AgentEvent: Hashable, Sendable {
    package var account: AgentAccount
    package var event: String
    package var reason: String?
    package var failure: AgentFailure?

    package init(account: AgentAccount, event: String, reason: String?, failure: AgentFailure?) {
        self.account = account
        self.event = event
        self.reason = reason
        self.failure = failure
    }
}

/// A session as `vault agent status` shows it.
package struct AgentHolding: Hashable, Sendable {
    package var account: AgentAccount
    package var name: String
    package var isOffline: Bool
    /// Seconds without use until it is locked; nil for no limit.
    package var idleLeft: Double?
    /// Seconds until it is locked in any case; nil for no limit.
    package var lifetimeLeft: Double?
    /// The provider's refusal of the account; nil if there is none.
    package var refusal: AgentFailure?

    package init(
        account: AgentAccount, name: String, isOffline: Bool, idleLeft: Double?, lifetimeLeft: Double?,
        refusal: AgentFailure?
    ) {
        self.account = account
        self.name = name
        self.isOffline = isOffline
        self.idleLeft = idleLeft
        self.lifetimeLeft = lifetimeLeft
        self.refusal = refusal
    }
}

/// The state of the agent and its sessions.
package struct AgentStatus: Hashable, Sendable {
    package var process: UInt32
    package var folder: String
    package var isConfirming: Bool
    /// The reasons for a lock other than the sessions' limits, for people.
    package var listening: [String]
    package var sessions: [AgentHolding]
    /// The accounts that `vault agent unlock` opens again.
    package var locked: [AgentAccount]

    package init(
        process: UInt32, folder: String, isConfirming: Bool, listening: [String], sessions: [AgentHolding],
        locked: [AgentAccount]
    ) {
        self.process = process
        self.folder = folder
        self.isConfirming = isConfirming
        self.listening = listening
        self.sessions = sessions
        self.locked = locked
    }
}

package enum AgentAnswer: Hashable, Sendable {
    case failed(AgentFailure)
    case done
    case token(AgentToken)
    /// The request would have to wait, because the token must be renewed or a person must be asked.
    case notAtHand
    case data([UInt8])
    case text(String)
    case attached(isOffline: Bool, refusal: AgentFailure?)
    case status(AgentStatus)
    case event(AgentEvent)
    /// The session has ended. The failure says why the provider did not revoke the refresh token.
    case loggedOut(AgentFailure?)

    package enum Kind: UInt8, Sendable {
        case failed = 64
        case done, token, notAtHand, data, text, attached, status, event, loggedOut
    }

    /// The message, with its length.
    package var bytes: [UInt8] {
        MessageFrame.bytes(kind: kind.rawValue) { writer in
            switch self {
            case .failed(let failure): writer.put(failure)
            case .done, .notAtHand: break
            case .token(let token):
                writer.put(token.value)
                writer.put(token.tokenType)
                writer.put(token.expiresAt)
                writer.put(token.scope)
                writer.put(token.obtainedAt)
                writer.put(token.isNew)
            case .data(let bytes): writer.put(bytes)
            case .text(let text): writer.put(text)
            case .attached(let isOffline, let refusal):
                writer.put(isOffline)
                writer.put(refusal)
            case .status(let status): writer.put(status)
            case .event(let event):
                writer.put(event.account)
                writer.put(event.event)
                writer.put(event.reason)
                writer.put(event.failure)
            case .loggedOut(let failure): writer.put(failure)
            }
        }
    }

    private var kind: Kind {
        switch self {
        case .failed: .failed
        case .done: .done
        case .token: .token
        case .notAtHand: .notAtHand
        case .data: .data
        case .text: .text
        case .attached: .attached
        case .status: .status
        case .event: .event
        case .loggedOut: .loggedOut
        }
    }

    /// - Parameter message: without its length.
    package init(_ message: ArraySlice<UInt8>) throws(AgentProtocolError) {
        var (number, reader) = try MessageFrame.opened(message)
        guard let kind = Kind(rawValue: number) else { throw .malformed }
        self =
            switch kind {
            case .failed: .failed(try reader.failure())
            case .done: .done
            case .notAtHand: .notAtHand
            case .token:
                .token(
                    AgentToken(
                        value: try reader.text(), tokenType: try reader.text(), expiresAt: try reader.optionalDouble(),
                        scope: try reader.optionalText(), obtainedAt: try reader.double(), isNew: try reader.bool()))
            case .data: .data(Array(try reader.data()))
            case .text: .text(try reader.text())
            case .attached: .attached(isOffline: try reader.bool(), refusal: try reader.optionalFailure())
            case .status: .status(try reader.status())
            case .event:
                .event(
                    AgentEvent(
                        account: try reader.account(), event: try reader.text(), reason: try reader.optionalText(),
                        failure: try reader.optionalFailure()))
            case .loggedOut: .loggedOut(try reader.optionalFailure())
            }
        try reader.end()
    }
}

extension FieldWriter {
    fileprivate mutating func put(_ failure: AgentFailure) {
        put(failure.code)
        put(failure.message)
        put(UInt32(failure.facts.count))
        for (name, text) in failure.facts.sorted(by: { $0.key < $1.key }) {
            put(name)
            put(text)
        }
    }

    fileprivate mutating func put(_ failure: AgentFailure?) {
        put(failure != nil)
        if let failure { put(failure) }
    }

    fileprivate mutating func put(_ status: AgentStatus) {
        put(status.process)
        put(status.folder)
        put(status.isConfirming)
        put(UInt32(status.listening.count))
        for line in status.listening { put(line) }
        put(UInt32(status.sessions.count))
        for session in status.sessions {
            put(session.account)
            put(session.name)
            put(session.isOffline)
            put(session.idleLeft)
            put(session.lifetimeLeft)
            put(session.refusal)
        }
        put(UInt32(status.locked.count))
        for account in status.locked { put(account) }
    }
}

extension FieldReader {
    fileprivate mutating func failure() throws(AgentProtocolError) -> AgentFailure {
        var failure = AgentFailure(code: try text(), message: try text())
        // Each fact needs bytes, so a false count ends in an error before it uses much memory.
        for _ in 0..<(try uint32()) { failure.facts[try text()] = try text() }
        return failure
    }

    fileprivate mutating func optionalFailure() throws(AgentProtocolError) -> AgentFailure? {
        try bool() ? failure() : nil
    }

    fileprivate mutating func status() throws(AgentProtocolError) -> AgentStatus {
        var status = AgentStatus(
            process: try uint32(), folder: try text(), isConfirming: try bool(), listening: [], sessions: [],
            locked: [])
        // Each element needs bytes, so a false count ends in an error before it uses much memory.
        for _ in 0..<(try uint32()) { status.listening.append(try text()) }
        for _ in 0..<(try uint32()) {
            status.sessions.append(
                AgentHolding(
                    account: try account(), name: try text(), isOffline: try bool(), idleLeft: try optionalDouble(),
                    lifetimeLeft: try optionalDouble(), refusal: try optionalFailure()))
        }
        for _ in 0..<(try uint32()) { status.locked.append(try account()) }
        return status
    }
}
