import Foundation
import Testing
import VaultCrypto

@testable import KeyServiceAudit
@testable import KeyServiceCore

/// The thief has the disk with the state file, and may write lines of the thief's own.
@Suite struct AuditThiefTests {
    let audit: AuditFolder

    init() throws {
        audit = try AuditFolder()
        try audit.append("a", "b", "c", "d")
    }

    @Test func `when a log is cut, then missing lines are reported`() throws {
        let lines = try audit.lines()
        for kept in 0..<5 {
            try audit.overwriteLog(Array(lines[..<kept]))
            try audit.append("thief")
            let report = try audit.verify()
            #expect(report.damage?.kind == .missing && report.count == kept)
            #expect(try audit.writer().anchor()?.sequence == UInt64(6 + kept))
        }
    }

    @Test func `when a thief appends, then a changed line still shows`() throws {
        for index in 0..<5 {
            let audit = try AuditFolder()
            try audit.append("a", "b", "c", "d")
            var lines = try audit.lines()
            lines[index] = lines[index].replacingOccurrences(
                of: #""event":"key-released""#, with: #""event":"wrong-guess""#
            )
            .replacingOccurrences(of: "log-made", with: "key-made")
            try audit.overwriteLog(lines)
            try audit.append("thief")
            let report = try audit.verify()
            #expect(report.damage?.kind == .changed && report.count == index)
        }
    }

    /// With the newest state, a thief can make MACs only for the next line. Tries all states that the thief can derive.
    @Test func `when the state is stolen, then earlier MACs stay unknown`() throws {
        let lines = try audit.lines().map { Array($0.utf8) }
        var state = try AuditStateFile(path: audit.state).read()
        #expect(state.next == 6)
        var key = try AuditKey(state.key.bytes.copy())
        for _ in 0..<20 {
            for index in 1..<5 {
                let before = try #require(AuditLine.split(lines[index - 1][...]))
                let line = try #require(AuditLine.split(lines[index][...]))
                var copy = try AuditKey(key.bytes.copy())
                #expect(try copy.authenticate(line.content, after: before.mac) != line.mac)
            }
            try key.skip()
        }
        state.next = 0
    }

    @Test func `when old copies return, then only an anchor reveals them`() throws {
        let old = (log: try audit.bytes(audit.log), state: try audit.bytes(audit.state))
        try audit.append("e", "f", "g")
        let before = AuditAnchor(sequence: 5, mac: try macs()[4])
        let after = try #require(try audit.writer().anchor())
        try audit.overwrite(audit.log, old.log)
        try audit.overwrite(audit.state, old.state)
        #expect(try audit.verify(anchors: [after]).damage?.kind == .cutEnd)
        try audit.append("thief", "f", "g", "h")
        // This is what the log alone does not prove.
        #expect(try audit.verify(anchors: [before]).damage == nil)
        #expect(try audit.verify(anchors: [after]).damage?.kind == .rewritten)
    }

    /// An anchor speaks for all lines before it, also for a thief with an old state who keeps its line as it is.
    @Test func `when earlier lines are rewritten, then a later anchor disagrees`() throws {
        let old = (log: try audit.bytes(audit.log), state: try audit.bytes(audit.state))
        let writer = try audit.writer()
        try writer.append([AuditEvent(.keyReleased, keytag: "e")])
        try writer.append([AuditEvent(.keyReleased, keytag: "same")])
        let anchor = try #require(try writer.anchor())
        try audit.overwrite(audit.log, old.log)
        try audit.overwrite(audit.state, old.state)
        try audit.append("thief", "same")
        #expect(try audit.verify(anchors: [anchor]).damage?.kind == .rewritten)
    }

    @Test func `when a line is written, then its key is wiped`() throws {
        var keys: [[UInt8]] = []
        for tag in ["e", "f", "g"] {
            keys.append(try AuditStateFile(path: audit.state).read().key.bytes.withUnsafeBytes { Array($0) })
            try audit.append(tag)
        }
        let state = try audit.bytes(audit.state)
        for key in keys {
            let isThere = state.indices.contains { state[$0...].starts(with: key) }
            #expect(!isThere)
        }
        let key = try AuditStateFile(path: audit.state).read().key.bytes.withUnsafeBytes { Array($0) }
        #expect(state.indices.contains { state[$0...].starts(with: key) })
    }

    @Test func `when others can read the state, then the writer fails`() throws {
        try setMode(0o640, audit.state)
        #expect { _ = try audit.writer() } throws: { "\($0)".contains("open to other users") }
    }

    @Test func `when the state is damaged, then the writer fails`() throws {
        let state = try audit.bytes(audit.state)
        let used = state.indices.filter { state[$0] != 0 }
        for index in used[..<150] where (index % 65536) != 168 {
            var edited = state
            edited[index] ^= 1
            try audit.overwrite(audit.state, edited)
            #expect(throws: KeyServiceServerError.self, "byte \(index)") { _ = try audit.writer() }
        }
    }

    private func macs() throws -> [[UInt8]] {
        try audit.lines().compactMap { AuditLine.split(Array($0.utf8)[...])?.mac }
    }
}
