/// Why a message of the agent or of one of its clients is of no use.
package enum AgentProtocolError: Error, Sendable {
    /// The bytes are no message of this protocol.
    case malformed
    /// The length of the message is over the limit.
    case tooLong
    /// The other side speaks another version of the protocol.
    case otherVersion(UInt8)
    /// No agent listens, or it went away.
    case unreachable
    /// The agent took too long.
    case timedOut
    /// The socket is not this user's, or another user's process listens there.
    case notOurs
}
