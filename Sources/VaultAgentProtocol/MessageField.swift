/// A field of a message between the agent and a client. Numbers are big-endian. Text and bytes come after their length.
/// An optional field comes after a byte that says whether it is there.
package protocol MessageField {
    /// Reads the field from another process. A field that is cut off, too long, or not UTF-8 is an error.
    init(from reader: inout FieldReader) throws(AgentProtocolError)

    func write(to writer: inout FieldWriter)
}

/// Reads the fields of a message in order.
package struct FieldReader {
    private let bytes: ArraySlice<UInt8>
    private var position: Int

    /// - Parameter bytes: a message without its length.
    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    mutating func read<Field: MessageField>() throws(AgentProtocolError) -> Field { try Field(from: &self) }

    /// Reads fields of one kind after their number. Each field needs bytes, so a false number ends in an error before it
    /// uses much memory.
    mutating func list<Field: MessageField>() throws(AgentProtocolError) -> [Field] {
        let count: UInt32 = try read()
        var list: [Field] = []
        for _ in 0..<count { list.append(try read()) }
        return list
    }

    mutating func byte() throws(AgentProtocolError) -> UInt8 {
        guard position < bytes.endIndex else { throw .malformed }
        defer { position += 1 }
        return bytes[position]
    }

    /// Reads bytes after their number.
    mutating func data() throws(AgentProtocolError) -> ArraySlice<UInt8> {
        let count = Int(try read() as UInt32)
        guard count <= bytes.endIndex - position else { throw .malformed }
        defer { position += count }
        return bytes[position..<position + count]
    }

    /// - Throws: ``AgentProtocolError/malformed`` if bytes are left.
    func end() throws(AgentProtocolError) {
        guard position == bytes.endIndex else { throw .malformed }
    }
}

/// Writes the fields of a message in order.
package struct FieldWriter {
    fileprivate(set) var bytes: [UInt8] = []

    init() {
        // Most messages fit. An array that grows would leave copies of its bytes in memory.
        bytes.reserveCapacity(4096)
    }

    mutating func put<each Field: MessageField>(_ field: repeat each Field) {
        repeat (each field).write(to: &self)
    }

    mutating func put<Field: MessageField>(list: [Field]) {
        put(UInt32(list.count))
        for field in list { field.write(to: &self) }
    }

    /// Puts bytes after their number.
    fileprivate mutating func put(data: some Collection<UInt8>) {
        put(UInt32(truncatingIfNeeded: data.count))
        bytes.append(contentsOf: data)
    }

    /// Replaces the first four bytes with the number of bytes after them.
    mutating func putLength() {
        let length = UInt32(truncatingIfNeeded: bytes.count - MessageFrame.lengthSize)
        withUnsafeBytes(of: length.bigEndian) { bytes.replaceSubrange(..<MessageFrame.lengthSize, with: $0) }
    }
}

extension Bool: MessageField {
    package init(from reader: inout FieldReader) throws(AgentProtocolError) {
        switch try reader.byte() {
        case 0: self = false
        case 1: self = true
        default: throw .malformed
        }
    }

    package func write(to writer: inout FieldWriter) { writer.put(UInt8(self ? 1 : 0)) }
}

extension MessageField where Self: FixedWidthInteger {
    package init(from reader: inout FieldReader) throws(AgentProtocolError) {
        var value: Self = 0
        for _ in 0..<MemoryLayout<Self>.size { value = value << 8 | Self(try reader.byte()) }
        self = value
    }

    package func write(to writer: inout FieldWriter) {
        withUnsafeBytes(of: bigEndian) { writer.bytes.append(contentsOf: $0) }
    }
}

extension UInt8: MessageField {}
extension UInt32: MessageField {}
extension UInt64: MessageField {}

/// A number that is neither infinite nor NaN.
extension Double: MessageField {
    package init(from reader: inout FieldReader) throws(AgentProtocolError) {
        let value = Double(bitPattern: try reader.read())
        guard value.isFinite else { throw .malformed }
        self = value
    }

    package func write(to writer: inout FieldWriter) { writer.put(bitPattern) }
}

extension String: MessageField {
    package init(from reader: inout FieldReader) throws(AgentProtocolError) {
        guard let text = String(validating: try reader.data(), as: UTF8.self) else { throw .malformed }
        self = text
    }

    package func write(to writer: inout FieldWriter) { writer.put(data: utf8) }
}

extension Array: MessageField where Element == UInt8 {
    package init(from reader: inout FieldReader) throws(AgentProtocolError) { self = Array(try reader.data()) }

    package func write(to writer: inout FieldWriter) { writer.put(data: self) }
}

extension Optional: MessageField where Wrapped: MessageField {
    package init(from reader: inout FieldReader) throws(AgentProtocolError) {
        let isThere: Bool = try reader.read()
        self = try isThere ? Wrapped(from: &reader) : nil
    }

    package func write(to writer: inout FieldWriter) {
        writer.put(self != nil)
        if let field = self { field.write(to: &writer) }
    }
}
