/// A message between the agent and a client: four bytes of length, the version of the protocol, the kind, and the fields.
///
/// The head and the answer `failed` stay the same in all versions, so that a program of another version understands at
/// least why it is refused.
package enum MessageFrame {
    /// The version that this program speaks.
    package static let version: UInt8 = 1
    /// The longest message that a client may send, in bytes, without the length.
    package static let longestRequest = 160 * 1024
    /// The longest message that the agent sends, in bytes, without the length.
    package static let longestAnswer = 2 * 1024 * 1024

    package static let lengthSize = 4

    /// A whole message, ready to be sent.
    package static func bytes(kind: UInt8, version: UInt8 = version, _ write: (inout FieldWriter) -> Void) -> [UInt8] {
        var writer = FieldWriter()
        writer.put(UInt32(0))
        writer.put(version)
        writer.put(kind)
        write(&writer)
        writer.putLength()
        return writer.bytes
    }

    /// Finds the first message in what was received so far.
    ///
    /// - Parameter limit: how long it may be.
    /// - Returns: where it stands, without its length; nil when it is not complete yet.
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

    /// Takes the head off a message.
    ///
    /// - Parameter message: without its length.
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
