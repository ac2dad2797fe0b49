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
    case attached(AgentContact, refusal: AgentFailure?)
    case status(AgentStatus)
    case event(AgentEvent)
    /// The session has ended. The failure says why the provider did not revoke the refresh token.
    case loggedOut(AgentFailure?)
    /// A number that changes with each lock. Each agent begins at a random number.
    case locks(UInt64)

    package enum Kind: UInt8, Sendable {
        case failed = 64
        case done, token, notAtHand, data, text, attached, status, event, loggedOut, locks
    }

    /// The message, with its length.
    package var bytes: [UInt8] {
        switch self {
        case .failed(let failure): Self.message(.failed, failure)
        case .done: Self.message(.done)
        case .token(let token): Self.message(.token, token)
        case .notAtHand: Self.message(.notAtHand)
        case .data(let bytes): Self.message(.data, bytes)
        case .text(let text): Self.message(.text, text)
        case .attached(let contact, let refusal): Self.message(.attached, contact, refusal)
        case .status(let status): Self.message(.status, status)
        case .event(let event): Self.message(.event, event)
        case .loggedOut(let failure): Self.message(.loggedOut, failure)
        case .locks(let number): Self.message(.locks, number)
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
            case .failed: .failed(try reader.read())
            case .done: .done
            case .token: .token(try reader.read())
            case .notAtHand: .notAtHand
            case .data: .data(try reader.read())
            case .text: .text(try reader.read())
            case .attached: .attached(try reader.read(), refusal: try reader.read())
            case .status: .status(try reader.read())
            case .event: .event(try reader.read())
            case .loggedOut: .loggedOut(try reader.read())
            case .locks: .locks(try reader.read())
            }
        try reader.end()
    }
}

extension AgentToken: MessageField {
    package init(from reader: inout FieldReader) throws(AgentProtocolError) {
        self.init(
            value: try reader.read(), tokenType: try reader.read(), expiresAt: try reader.read(),
            scope: try reader.read(), obtainedAt: try reader.read(), isNew: try reader.read())
    }

    package func write(to writer: inout FieldWriter) {
        writer.put(value, tokenType, expiresAt, scope, obtainedAt, isNew)
    }
}

extension AgentFailure: MessageField {
    package init(from reader: inout FieldReader) throws(AgentProtocolError) {
        self.init(code: try reader.read(), message: try reader.read())
        let count: UInt32 = try reader.read()
        // Each fact needs bytes, so a false count ends in an error before it uses much memory.
        for _ in 0..<count {
            let name: String = try reader.read()
            let text: String = try reader.read()
            facts[name] = text
        }
    }

    package func write(to writer: inout FieldWriter) {
        writer.put(code, message, UInt32(facts.count))
        for (name, text) in facts.sorted(by: { $0.key < $1.key }) { writer.put(name, text) }
    }
}

extension AgentEvent: MessageField {
    package init(from reader: inout FieldReader) throws(AgentProtocolError) {
        self.init(
            account: try reader.read(), event: try reader.read(), reason: try reader.read(),
            failure: try reader.read())
    }

    package func write(to writer: inout FieldWriter) { writer.put(account, event, reason, failure) }
}

extension AgentHolding: MessageField {
    package init(from reader: inout FieldReader) throws(AgentProtocolError) {
        self.init(
            account: try reader.read(), name: try reader.read(), isOffline: try reader.read(),
            idleLeft: try reader.read(), lifetimeLeft: try reader.read(), refusal: try reader.read())
    }

    package func write(to writer: inout FieldWriter) {
        writer.put(account, name, isOffline, idleLeft, lifetimeLeft, refusal)
    }
}

extension AgentStatus: MessageField {
    package init(from reader: inout FieldReader) throws(AgentProtocolError) {
        self.init(
            process: try reader.read(), folder: try reader.read(), isConfirming: try reader.read(),
            listening: try reader.list(), sessions: try reader.list(), locked: try reader.list())
    }

    package func write(to writer: inout FieldWriter) {
        writer.put(process, folder, isConfirming)
        writer.put(list: listening)
        writer.put(list: sessions)
        writer.put(list: locked)
    }
}
