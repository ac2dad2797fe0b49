/// A message between the agent and a client: four bytes of length, the protocol's version, the kind, and the fields.
///
/// The head and the answer `failed` are the same in all versions. So a program of another version can at least read why
/// it is refused.
package enum MessageFrame {
    /// The version of the protocol that this program uses.
    package static let version: UInt8 = 1
    /// The longest message from a client, in bytes without the length.
    package static let longestRequest = 160 * 1024
    /// The longest message from the agent, in bytes without the length.
    package static let longestAnswer = 2 * 1024 * 1024

    package static let lengthSize = 4

    /// Returns a whole message, ready to be sent.
    package static func bytes<each Field: MessageField>(
        kind: UInt8, version: UInt8 = version, _ field: repeat each Field
    ) -> [UInt8] {
        var writer = FieldWriter()
        writer.put(UInt32(0), version, kind)
        writer.put(repeat each field)
        writer.putLength()
        return writer.bytes
    }

    /// Finds the first message in the received bytes.
    ///
    /// - Parameter limit: the longest allowed message, in bytes.
    /// - Returns: the range of the message without its length; nil if it is not complete.
    package static func first(
        in received: ArraySlice<UInt8>, limit: Int
    ) throws(AgentProtocolError) -> Range<Int>? {
        guard received.count >= lengthSize else { return nil }
        var length = 0
        for byte in received.prefix(lengthSize) { length = length << 8 | Int(byte) }
        guard length <= limit else { throw .tooLong }
        guard length >= 2 else { throw .malformed }
        guard received.count - lengthSize >= length else { return nil }
        let start = received.startIndex + lengthSize
        return start..<start + length
    }

    /// Removes the head from a message.
    ///
    /// - Parameter message: the message without its length.
    package static func opened(_ message: ArraySlice<UInt8>) throws(AgentProtocolError) -> (
        kind: UInt8, fields: FieldReader
    ) {
        var reader = FieldReader(message)
        let version = try reader.byte()
        let kind = try reader.byte()
        guard version == Self.version || kind == AgentAnswer.Kind.failed.rawValue else {
            throw .otherVersion(version)
        }
        return (kind, reader)
    }
}
