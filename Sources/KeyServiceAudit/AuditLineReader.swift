internal import Foundation
internal import KeyServiceCore

/// The reader of a log file. It returns each line with its line feed. Only the last line may lack the line feed.
struct AuditLineReader: ~Copyable {
    private static let chunk = 64 * 1024

    let path: String
    private let file: PrivateFile.Descriptor
    private var buffer: [UInt8] = []
    private var start = 0
    private var isAtEnd = false
    /// The number of the line that ``next()`` returned last, from 1.
    private(set) var number = 0

    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if the file cannot be read.
    init(path: String) throws {
        let number = open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else {
            throw KeyServiceServerError(
                .configurationInvalid, "\(path) cannot be read: \(String(cString: strerror(errno))).")
        }
        self.path = path
        file = PrivateFile.Descriptor(number: number)
    }

    /// Returns the next line; nil at the end. A line that is longer than ``AuditLine/maxSize`` comes in pieces.
    mutating func next() throws -> [UInt8]? {
        while true {
            let rest = buffer[start...]
            if let end = rest.prefix(AuditLine.maxSize).firstIndex(of: UInt8(ascii: "\n")) {
                return take(to: end + 1)
            }
            if rest.count >= AuditLine.maxSize { return take(to: start + AuditLine.maxSize) }
            if isAtEnd { return rest.isEmpty ? nil : take(to: buffer.count) }
            try fill()
        }
    }

    private mutating func take(to end: Int) -> [UInt8] {
        defer { start = end }
        number += 1
        return Array(buffer[start..<end])
    }

    private mutating func fill() throws {
        var more = [UInt8](repeating: 0, count: Self.chunk)
        let count = read(file.number, &more, more.count)
        guard count >= 0 else {
            throw KeyServiceServerError(.configurationInvalid, "\(path) cannot be read (error \(errno)).")
        }
        isAtEnd = count == 0
        buffer = Array(buffer[start...]) + more[..<count]
        start = 0
    }
}
