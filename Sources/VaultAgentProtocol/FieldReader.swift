/// Reads the fields of a message from another process. A field that is cut off, too long, or not UTF-8 is an error.
package struct FieldReader {
    private let bytes: ArraySlice<UInt8>
    private var position: Int

    /// - Parameter bytes: a message without its length.
    package init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    package mutating func bool() throws(AgentProtocolError) -> Bool {
        switch try byte() {
        case 0: false
        case 1: true
        default: throw .malformed
        }
    }

    package mutating func byte() throws(AgentProtocolError) -> UInt8 {
        guard position < bytes.endIndex else { throw .malformed }
        defer { position += 1 }
        return bytes[position]
    }

    package mutating func uint32() throws(AgentProtocolError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 { value = value << 8 | UInt32(try byte()) }
        return value
    }

    package mutating func uint64() throws(AgentProtocolError) -> UInt64 {
        var value: UInt64 = 0
        for _ in 0..<8 { value = value << 8 | UInt64(try byte()) }
        return value
    }

    /// A number that is neither infinite nor NaN.
    package mutating func double() throws(AgentProtocolError) -> Double {
        let value = Double(bitPattern: try uint64())
        guard value.isFinite else { throw .malformed }
        return value
    }

    package mutating func data() throws(AgentProtocolError) -> ArraySlice<UInt8> {
        let count = Int(try uint32())
        guard count <= bytes.endIndex - position else { throw .malformed }
        defer { position += count }
        return bytes[position..<position + count]
    }

    package mutating func text() throws(AgentProtocolError) -> String {
        guard let text = String(validating: try data(), as: UTF8.self) else { throw .malformed }
        return text
    }

    package mutating func optionalText() throws(AgentProtocolError) -> String? { try bool() ? text() : nil }

    package mutating func optionalDouble() throws(AgentProtocolError) -> Double? { try bool() ? double() : nil }

    /// - Throws: ``AgentProtocolError/malformed`` if bytes are left.
    package func end() throws(AgentProtocolError) {
        guard position == bytes.endIndex else { throw .malformed }
    }
}
