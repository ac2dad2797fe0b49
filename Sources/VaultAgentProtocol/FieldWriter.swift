/// Writes the fields of a message in order. Numbers are big-endian. Text and bytes come after their length.
package struct FieldWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {
        // Most messages fit. An array that grows would leave copies of its bytes in memory.
        bytes.reserveCapacity(4096)
    }

    /// Replaces the first four bytes with the number of bytes after them.
    mutating func putLength() {
        let length = UInt32(truncatingIfNeeded: bytes.count - MessageFrame.lengthSize)
        withUnsafeBytes(of: length.bigEndian) { bytes.replaceSubrange(..<MessageFrame.lengthSize, with: $0) }
    }

    package mutating func put(_ value: Bool) { bytes.append(value ? 1 : 0) }

    package mutating func put(_ value: UInt8) { bytes.append(value) }

    package mutating func put(_ value: UInt32) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    package mutating func put(_ value: UInt64) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    package mutating func put(_ value: Double) { put(value.bitPattern) }

    package mutating func put(_ value: [UInt8]) {
        put(UInt32(truncatingIfNeeded: value.count))
        bytes.append(contentsOf: value)
    }

    package mutating func put(_ value: String) {
        let text = value.utf8
        put(UInt32(truncatingIfNeeded: text.count))
        bytes.append(contentsOf: text)
    }

    package mutating func put(_ value: String?) {
        put(value != nil)
        if let value { put(value) }
    }

    package mutating func put(_ value: Double?) {
        put(value != nil)
        if let value { put(value) }
    }
}
