internal import Foundation
internal import VaultCrypto

/// The result of verifying an audit log.
package struct AuditReport: Sendable {
    /// The damage at the first bad place.
    package struct Damage: Sendable {
        package enum Kind: String, Sendable {
            /// The line is not of the form of a line.
            case notALine = "not-a-line"
            /// The MAC of the line is wrong: the line was changed, or inserted.
            case changed
            /// Lines are missing before this one.
            case missing
            /// A later line stands before an earlier one.
            case moved
            /// The line has the number of an earlier line.
            case repeated
            /// The last line is not complete.
            case incomplete
            /// The log ends before an anchor.
            case cutEnd = "cut-end"
            /// The line is genuine, but not the line of an anchor. Both log and state were put back to an older copy.
            case rewritten
        }

        package let kind: Kind
        /// One sentence for a person.
        package let description: String
        /// Whether the anchor of the line before the first one would help.
        package var isOfStart = false
    }

    /// The number of genuine lines before the damage, or in all.
    package internal(set) var count = 0
    /// The times of the first and the last genuine line.
    package internal(set) var firstTime: String?
    package internal(set) var lastTime: String?
    /// The anchor of the last genuine line.
    package internal(set) var last: AuditAnchor?
    /// Events that are no damage, but worth knowing, such as a crash.
    package internal(set) var notes: [String] = []
    /// The first damage; nil if all lines are genuine.
    package internal(set) var damage: Damage?
}

/// The verifier of audit logs. It reads the lines in order and keeps only one line in memory, so the size of a log does
/// not matter.
package struct AuditVerifier: ~Copyable {
    private var key: AuditKey
    private var expected: UInt64 = 1
    private var previous = AuditKey.firstMAC
    private var running: Set<String> = []
    /// The number of the service's audit logs, with this one.
    private var logs = 1
    private var anchors: [UInt64: [UInt8]]
    private var report = AuditReport()
    private let decoder = JSONDecoder()

    /// - Parameters:
    ///   - anchors: lines that the log must have.
    ///   - start: the last line before the first file, if older files are not kept any more.
    package init(
        key: consuming AuditVerificationKey, anchors: [AuditAnchor] = [], start: AuditAnchor? = nil
    ) throws {
        var key = try AuditKey(key.bytes.copy())
        for _ in 0..<(start?.sequence ?? 0) { try key.skip() }
        self.key = key
        self.anchors = Dictionary(anchors.map { ($0.sequence, $0.mac) }) { first, _ in first }
        if let start { (expected, previous) = (start.sequence + 1, start.mac) }
    }

    /// Verifies the files of one log, in the order of their lines.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if a file cannot be read.
    package consuming func verify(_ paths: [String]) throws -> AuditReport {
        let paths = try Self.inOrder(paths)
        for (index, path) in paths.enumerated() where report.damage == nil {
            try verify(path, later: Array(paths[(index + 1)...]))
        }
        if report.damage == nil, let anchor = anchors.keys.min() {
            let end = expected - 1
            report.damage = .init(
                kind: .cutEnd,
                description: end < anchor
                    ? "The log ends with line \(end), but the anchor is line \(anchor). The end was cut off."
                    : "The anchor is line \(anchor), and the files begin after it.")
        }
        return report
    }

    /// Sorts the files by the number of their first line. A file whose first line is damaged comes last.
    private static func inOrder(_ paths: [String]) throws -> [String] {
        try paths.map { path in
            var reader = try AuditLineReader(path: path)
            return (path, try reader.next().flatMap { AuditLine.sequence(of: $0) } ?? .max)
        }.sorted { $0.1 < $1.1 }.map(\.0)
    }

    private mutating func verify(_ path: String, later: [String]) throws {
        var reader = try AuditLineReader(path: path)
        while let line = try reader.next() {
            let place = "\(path), line \(reader.number)"
            guard let (content, mac) = AuditLine.split(line[...]), let sequence = AuditLine.sequence(of: content) else {
                let isEnd = try line.last != UInt8(ascii: "\n") && later.isEmpty && reader.next() == nil
                report.damage =
                    isEnd
                    ? .init(
                        kind: .incomplete,
                        description: """
                            \(place): the last line is not complete. If the file was copied while the service wrote \
                            it, copy it again.
                            """)
                    : .init(kind: .notALine, description: "\(place) is not a line of an audit log.")
                return
            }
            guard sequence == expected else {
                report.damage = try outOfOrder(sequence, place: place, reader: &reader, later: later)
                return
            }
            guard try key.authenticate(content, after: previous) == mac else {
                report.damage = .init(
                    kind: .changed,
                    description: "\(place) (number \(sequence)) was changed or inserted: its MAC is wrong.")
                return
            }
            if let anchor = anchors.removeValue(forKey: sequence), anchor != mac {
                report.damage = .init(
                    kind: .rewritten,
                    description: """
                        \(place) (number \(sequence)) is not the line of the anchor. Somebody put log and state back \
                        to an older copy, and wrote other lines.
                        """)
                return
            }
            (expected, previous) = (sequence + 1, mac)
            note(content, mac: mac, sequence: sequence)
        }
    }

    /// Notes a genuine line.
    private mutating func note(_ content: ArraySlice<UInt8>, mac: [UInt8], sequence: UInt64) {
        struct Line: Decodable {
            let time: String
            let event: String
            let instance: String
            let count: Int?
        }
        report.count += 1
        report.last = AuditAnchor(sequence: sequence, mac: mac)
        guard let line = try? decoder.decode(Line.self, from: Data(content + [UInt8(ascii: "}")])) else { return }
        report.firstTime = report.firstTime ?? line.time
        report.lastTime = line.time
        let kind = AuditEvent.Kind(rawValue: line.event)
        if kind == .serverStarted || kind == .logAdded, let count = line.count, count > logs {
            logs = count
            report.notes.append(
                "Since line \(sequence), the service has \(count) audit logs. Verify each of them.")
        }
        switch kind {
        case .serverStarted:
            if !running.insert(line.instance).inserted {
                report.notes.append(
                    """
                    Before line \(sequence), the server \(line.instance) ended without its last line (a crash, or a \
                    power failure). The events of its last tenth of a second may be missing.
                    """)
            }
        case .serverStopped: running.remove(line.instance)
        case .eventsLost:
            report.notes.append(
                "Before line \(sequence), \(line.count ?? 0) events were lost: the log could not be written.")
        default: break
        }
    }

    /// Returns the damage at a line with an unexpected number.
    private func outOfOrder(
        _ sequence: UInt64, place: String, reader: inout AuditLineReader, later: [String]
    ) throws -> AuditReport.Damage {
        let next = try reader.next().flatMap { AuditLine.sequence(of: $0) }
        if let next, next == expected + 1 {
            return .init(
                kind: .changed, description: "\(place) was changed: its number is \(sequence), and not \(expected).")
        }
        if sequence < expected {
            return .init(
                kind: .repeated,
                description: "\(place) has the number \(sequence) again. It was repeated, moved or inserted.")
        }
        if report.count == 0 && expected == 1 {
            return .init(
                kind: .missing,
                description: """
                    The log begins with line \(sequence), so its start is missing. If you do not keep older files, \
                    give the anchor of line \(sequence - 1).
                    """, isOfStart: true)
        }
        if try next == expected || follows(expected, in: &reader, later: later) {
            return .init(
                kind: .moved, description: "\(place): line \(sequence) stands before line \(expected).")
        }
        let missing = sequence - 1 == expected ? "line \(expected) is" : "lines \(expected) to \(sequence - 1) are"
        return .init(kind: .missing, description: "Before \(place), \(missing) missing. No crash does that.")
    }

    private func follows(_ sequence: UInt64, in reader: inout AuditLineReader, later: [String]) throws -> Bool {
        while let line = try reader.next() {
            if AuditLine.sequence(of: line) == sequence { return true }
        }
        for path in later {
            var reader = try AuditLineReader(path: path)
            while let line = try reader.next() {
                if AuditLine.sequence(of: line) == sequence { return true }
            }
        }
        return false
    }
}
