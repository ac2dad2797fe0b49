import Foundation
import Testing

@testable import KeyServiceAudit

/// The machine stops at any moment of a write. `Tests/EndToEnd/test_audit.py` kills the real program.
@Suite struct AuditCrashTests {
    let audit: AuditFolder
    private let settled = 168

    init() throws {
        audit = try AuditFolder()
        try audit.append("a", "b")
    }

    /// The state as it was before the note that the log file has the newest lines.
    private func unsettled() throws -> [UInt8] {
        var state = try audit.bytes(audit.state)
        for place in [0, 65536] { state[place + settled] = 0 }
        return state
    }

    @Test(arguments: ["", "zeros"]) func `when a batch is partly written, then it is completed`(rest: String) throws {
        let before = try audit.bytes(audit.log).count
        try audit.writer().append([AuditEvent(.keyMade, keytag: "c"), AuditEvent(.keyReleased, keytag: "c")])
        let log = try audit.bytes(audit.log)
        let state = try unsettled()
        for size in before...log.count {
            let zeros = [UInt8](repeating: 0, count: rest == "zeros" ? log.count - size : 0)
            try audit.overwrite(audit.log, log[..<size] + zeros)
            try audit.overwrite(audit.state, state)
            try audit.append("d")
            let report = try audit.verify()
            #expect(report.damage == nil && report.count == 6, "size \(size)")
        }
    }

    @Test func `when writing the state is interrupted, then the earlier remains`() throws {
        let old = try audit.bytes(audit.state)
        try audit.append("c")
        let new = try audit.bytes(audit.state)
        let log = try audit.bytes(audit.log)
        let before = try Array(audit.lines().prefix(3).joined().utf8)
        let place = new[..<65536].allSatisfy { $0 == 0 } || old[8] != 0 ? 65536 : 0
        // Nothing of the batch is in the log file, as it comes second.
        for size in 0..<settled {
            var torn = old
            let count = min(size, settled)
            torn.replaceSubrange(place..<(place + count), with: new[place..<(place + count)])
            guard torn != old else { continue }
            try audit.overwrite(audit.log, before)
            try audit.overwrite(audit.state, torn)
            try audit.append("d")
            let report = try audit.verify()
            #expect(report.damage == nil && report.count == 4, "size \(size)")
        }
        #expect(log.count > before.count)
    }

    @Test func `when an incomplete log is renamed, then it is completed`() throws {
        let before = try audit.bytes(audit.log)
        try audit.append("c")
        let state = try unsettled()
        try audit.overwrite(audit.log, before + [UInt8(ascii: "{")])
        try audit.overwrite(audit.state, state)
        try FileManager.default.moveItem(atPath: audit.log, toPath: audit.log + ".1")
        try audit.append("d")
        let report = try audit.verify([audit.log, audit.log + ".1"])
        #expect(report.damage == nil && report.count == 5)
    }

    @Test func `when a log file vanishes, then its newest lines survive`() throws {
        let before = try audit.bytes(audit.log)
        try audit.append("c")
        try audit.overwrite(audit.state, unsettled())
        let elsewhere = try TemporaryFolder()
        try Data(before).write(to: URL(fileURLWithPath: elsewhere.path + "/old"))
        try FileManager.default.removeItem(atPath: audit.log)
        try audit.append("d")
        let report = try audit.verify([elsewhere.path + "/old", audit.log])
        #expect(report.damage == nil && report.count == 5)
    }

    @Test func `when a log file begins, then it names its predecessor`() throws {
        let last = try #require(try audit.writer().anchor())
        try FileManager.default.moveItem(atPath: audit.log, toPath: audit.log + ".1")
        try audit.append("c", "d")
        let lines = try audit.lines()
        #expect(lines[0].contains(#""after":"\#("\(last)".split(separator: ":")[1])""#))
        #expect(!lines[1].contains("after"))
        #expect(try audit.verify([audit.log, audit.log + ".1"]).count == 5)
        #expect(try audit.verify([audit.log], start: last).count == 2)
        #expect(try audit.verify([audit.log]).damage?.kind == .missing)
        #expect(try audit.verify([audit.log + ".1"]).damage == nil)
    }

    @Test func `when a batch is large, then every line verifies`() throws {
        try audit.writer().append((0..<1000).map { AuditEvent(.wrongGuess, keytag: "t\($0)", guessesLeft: 2) })
        let report = try audit.verify()
        #expect(report.damage == nil && report.count == 1003)
    }

    @Test func `when a log exists, then creating one overwrites nothing`() throws {
        #expect { _ = try AuditWriter.create(path: audit.log, instance: "x") { _ in } } throws: {
            "\($0)".contains("not overwritten")
        }
        #expect(try audit.verify().count == 3)
    }
}
