import Foundation
import Testing

@testable import KeyServiceAudit
@testable import KeyServiceCore

/// The thief has the disk, and edits the log.
@Suite struct AuditTamperingTests {
    let audit: AuditFolder

    init() throws {
        audit = try AuditFolder()
        try audit.append("a", "b", "c", "d")
    }

    private func damage(anchors: [AuditAnchor] = []) throws -> AuditReport.Damage.Kind? {
        try audit.verify(anchors: anchors).damage?.kind
    }

    @Test func `when a log is untouched, then it is genuine`() throws {
        let report = try audit.verify()
        #expect(report.damage == nil && report.count == 5 && report.notes.isEmpty)
        #expect(try report.last == audit.writer().anchor())
    }

    @Test(arguments: [UInt8(1), 2, 16, 64, 255])
    func `when any byte is changed, then verification finds damage`(change: UInt8) throws {
        let original = try audit.bytes(audit.log)
        var line = 0
        for index in original.indices {
            var edited = original
            edited[index] ^= change
            try audit.overwrite(audit.log, edited)
            let report = try audit.verify()
            #expect(report.damage != nil && report.count <= line, "byte \(index)")
            if original[index] == UInt8(ascii: "\n") { line += 1 }
        }
    }

    @Test func `when any byte is missing, then verification finds damage`() throws {
        let original = try audit.bytes(audit.log)
        for index in original.indices {
            var edited = original
            edited.remove(at: index)
            try audit.overwrite(audit.log, edited)
            #expect(try audit.verify().damage != nil, "byte \(index)")
        }
    }

    @Test func `when a line is cut, then the log is incomplete`() throws {
        let original = try audit.bytes(audit.log)
        let ends = Set(original.indices.filter { original[$0] == UInt8(ascii: "\n") }.map { $0 + 1 })
        for size in 1..<original.count {
            try audit.overwrite(audit.log, original[..<size])
            #expect(try (damage() == .incomplete) != ends.contains(size), "size \(size)")
        }
    }

    @Test func `when a line is dropped, then it is reported missing`() throws {
        let lines = try audit.lines()
        for index in 0..<4 {
            var edited = lines
            edited.remove(at: index)
            try audit.overwriteLog(edited)
            #expect(try damage() == .missing)
            #expect(try audit.verify().count == index)
        }
    }

    @Test func `when a line is duplicated, then it is reported repeated`() throws {
        let lines = try audit.lines()
        for index in lines.indices {
            for place in index...4 {
                var edited = lines
                edited.insert(lines[index], at: place + 1)
                try audit.overwriteLog(edited)
                #expect(try damage() == .repeated, "\(index) at \(place)")
            }
        }
    }

    @Test func `when two lines are swapped, then verification finds damage`() throws {
        let lines = try audit.lines()
        for first in lines.indices {
            for second in (first + 1)..<lines.count where second < lines.count {
                var edited = lines
                edited.swapAt(first, second)
                try audit.overwriteLog(edited)
                #expect([.moved, .missing, .changed].contains(try damage()), "\(first) and \(second)")
                #expect(try audit.verify().count == first)
            }
        }
    }

    @Test func `when a foreign line is inserted, then damage is found`() throws {
        let lines = try audit.lines()
        // A line of another log of the same form, with the number that is expected.
        let other = try AuditFolder()
        try other.append("x", "y", "z", "x", "y")
        let others = try other.lines()
        for place in 0...5 {
            try audit.overwriteLog(Array(lines[..<place]) + [others[place]] + Array(lines[place...]))
            #expect(try damage() == .changed)
            #expect(try audit.verify().count == place)
        }
    }

    @Test(arguments: ["\n", "{}\n", "\0\0\0\0\n", String(repeating: "x", count: 5000), "{\"seq\":6}\n"])
    func `when text is appended, then verification finds damage`(text: String) throws {
        try audit.overwriteLog(audit.lines() + [text])
        let report = try audit.verify()
        #expect(report.damage != nil && report.count == 5)
    }

    @Test func `when the end is cut, then only anchors reveal it`() throws {
        let anchor = try #require(try audit.writer().anchor())
        try audit.overwriteLog(Array(audit.lines()[..<3]))
        #expect(try damage() == nil)
        #expect(try damage(anchors: [anchor]) == .cutEnd)
    }

    @Test func `when an anchor names a kept line, then it verifies`() throws {
        let anchors = try audit.lines().map { line in
            try #require(AuditAnchor("\(AuditLine.sequence(of: Array(line.utf8)) ?? 0):\(line.suffix(67).prefix(64))"))
        }
        #expect(try damage(anchors: anchors) == nil)
        // Older lines that are not kept any more. Only the anchor of the last one of them helps.
        let lines = try audit.lines()
        for gone in 1...4 {
            try audit.overwriteLog(Array(lines[gone...]))
            #expect(try damage() == .missing)
            for start in 1...gone {
                let found = try audit.verify(start: anchors[start - 1]).damage?.kind
                #expect(found == (start == gone ? nil : .missing), "\(gone) lines are gone, the start is \(start)")
            }
        }
    }

    @Test func `when the verification key is another, then no line verifies`() throws {
        let other = try AuditFolder()
        let verifier = try AuditVerifier(key: AuditVerificationKey(path: other.keyFile))
        let report = try verifier.verify([audit.log])
        #expect(report.damage?.kind == .changed && report.count == 0)
    }

    @Test(arguments: ["", "cva1.", "cva1.AAAA\n", "nonsense", String(repeating: "A", count: 48)])
    func `when a verification key is malformed, then verifying fails`(text: String) throws {
        try audit.overwrite(audit.keyFile, text.utf8)
        #expect(throws: KeyServiceServerError.self) { _ = try audit.verify() }
    }

    @Test(arguments: ["", ":", "1:", "0:" + String(repeating: "0", count: 64), "1:zz", "-1:00", "1:00:00"])
    func `when an anchor is malformed, then reading it fails`(text: String) {
        #expect(AuditAnchor(text) == nil)
    }
}
