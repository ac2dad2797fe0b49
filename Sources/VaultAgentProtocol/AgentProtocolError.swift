/// The reason why a message between the agent and a client cannot be used.
package enum AgentProtocolError: Error, Sendable {
    /// The bytes are not a message of this protocol.
    case malformed
    /// The length of the message is over the limit.
    case tooLong
    /// The other side speaks another version of the protocol.
    case otherVersion(UInt8)
    /// No agent listens, or it has ended.
    case unreachable
    /// The agent did not answer in time.
    case timedOut
    /// The socket does not belong to this user, or another user's process listens there.
    case notOurs
}
