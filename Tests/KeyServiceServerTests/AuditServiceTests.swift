import Foundation
import HummingbirdTesting
import KeyServiceAPI
import KeyServiceTestSupport
import Logging
import Testing

@testable import KeyServiceAudit
@testable import KeyServiceCore
@testable import KeyServiceServer

/// What the running service writes.
@Suite struct AuditServiceTests {
    private struct Line: Decodable, Equatable {
        let event: String
        var keytag: String?
        var guessesLeft: Int?
        var count: Int?
    }

    private let audit: AuditFolder

    init() throws { audit = try AuditFolder() }

    private func lines() throws -> [Line] {
        try audit.lines().map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    }

    @Test(arguments: [false, true]) func `when a key is used, then each use is logged`(isRequired: Bool) async throws {
        let masterKey = try MasterKey.random()
        let log = try AuditLog(audit.writer(), isRequired: isRequired, logger: Logger(label: "test"))
        let made = try await withService(.inMemory(masterKey), setup: .live, audit: log) { client async throws in
            let made = try await client.createKey(strongSecret)
            _ = try await client.key(made.keyid, secret: strongSecret)
            _ = try await client.key(made.keyid, longSecret: "wrong")
            for _ in 0..<4 { _ = try await client.key(made.keyid, secret: otherStrongSecret) }
            _ = try await client.key("nonsense", secret: strongSecret)
            return made
        }
        let tag = try KeyTags(masterKey).tag(of: made.keyid)
        #expect(
            try lines() == [
                Line(event: "log-made"), Line(event: "server-started"), Line(event: "key-made", keytag: tag),
                Line(event: "key-released", keytag: tag), Line(event: "wrong-long-secret", keytag: tag),
                Line(event: "wrong-guess", keytag: tag, guessesLeft: 2),
                Line(event: "wrong-guess", keytag: tag, guessesLeft: 1),
                Line(event: "wrong-guess", keytag: tag, guessesLeft: 0), Line(event: "key-locked", keytag: tag),
                Line(event: "refused-locked", keytag: tag), Line(event: "server-stopped"),
            ])
        let text = try audit.lines().joined()
        for secret in [made.keyid, made.key, made.longsecret, strongSecret] { #expect(!text.contains(secret)) }
        #expect(try audit.verify().damage == nil)
        #expect(log.counts.written == 10 && log.counts.lost == 0)
    }

    @Test(arguments: [false, true])
    func `when a locked key gets many guesses, then lines stay few`(isRequired: Bool) async throws {
        let log = try AuditLog(audit.writer(), isRequired: isRequired, logger: Logger(label: "test"))
        let refused = AuditEvent(.refusedLocked, keytag: "a")
        for _ in 0..<1000 { try await log.record([refused]) }
        try await log.record([AuditEvent(.refusedLocked, keytag: "b")])
        // Another event of the key comes after the count.
        try await log.record([AuditEvent(.keyReleased, keytag: "a")])
        for _ in 0..<3 { try await log.record([refused]) }
        log.endMinute()
        log.logAnchor()
        #expect(
            try lines() == [
                Line(event: "log-made"), Line(event: "refused-locked", keytag: "a"),
                Line(event: "refused-locked", keytag: "b"), Line(event: "refused-locked", keytag: "a", count: 999),
                Line(event: "key-released", keytag: "a"), Line(event: "refused-locked", keytag: "a"),
                Line(event: "refused-locked", keytag: "a", count: 2),
            ])
        #expect(try audit.verify().damage == nil)
    }

    @Test func `when very many keys are guessed at, then they share a count`() {
        var events = RepeatedEvents()
        var lines: [AuditEvent] = []
        for number in 0..<3000 { lines += events.lines(for: AuditEvent(.refusedLocked, keytag: "\(number)")) }
        #expect(lines.count == RepeatedEvents.maxSubjects)
        let counts = events.endMinute()
        #expect(counts.map(\.count) == [3000 - RepeatedEvents.maxSubjects])
        #expect(counts.map(\.keytag) == [nil])
        #expect(events.endMinute().isEmpty && events.isEmpty)
    }

    @Test func `when an address is limited, then one line counts`() async throws {
        let log = try AuditLog(audit.writer(), logger: Logger(label: "test"))
        try await withService(setup: .live, refusalsPerMinute: 1, audit: log) { client async throws in
            let made = try await client.createKey(strongSecret)
            // Requests that are not refused do not count.
            for _ in 0..<20 { #expect(try await client.key(made.keyid, secret: strongSecret).status == 200) }
            // A web page could make browsers send these.
            for _ in 0..<20 { #expect(try await client.get("/nothing").status == 404) }
            for _ in 0..<10 { #expect(try await client.post("/nothing", []).status == 404) }
            // The right secret and a wrong one get the same answer.
            for secret in [strongSecret, otherStrongSecret, strongSecret] {
                let reply = try await client.key(made.keyid, secret: secret)
                #expect(reply.status == 503 && reply.problem?.error == "busy" && reply.key == nil)
                #expect((1...60).contains(Int(reply.header("Retry-After") ?? "") ?? 0))
            }
            #expect(try await client.get("/readyz").status == 200)
        }
        #expect(
            try lines().suffix(3) == [
                Line(event: "requests-limited"), Line(event: "requests-limited", count: 2),
                Line(event: "server-stopped"),
            ])
    }

    @Test func `when the log is required, then lines precede the answer`() async throws {
        let log = try AuditLog(audit.writer(), isRequired: true, logger: Logger(label: "test"))
        try await withService(audit: log) { client async throws in
            let made = try await client.createKey(strongSecret)
            #expect(try lines().last?.event == "key-made")
            _ = try await client.key(made.keyid, secret: strongSecret)
            #expect(try lines().last?.event == "key-released")
        }
    }

    @Test func `when a required log fails, then no key is released`() async throws {
        let log = try AuditLog(audit.writer(), isRequired: true, logger: Logger(label: "test"))
        try await withService(audit: log) { client async throws in
            let made = try await client.createKey(strongSecret)
            let statePath = audit.state
            try FileManager.default.moveItem(atPath: statePath, toPath: statePath + ".away")
            // The first guess may find out. Its answer says nothing.
            let first = try await client.key(made.keyid, secret: strongSecret)
            #expect(first.status == 503 && first.key == nil && first.header("Retry-After") == "1")
            for _ in 0..<5 { #expect(try await client.key(made.keyid, secret: otherStrongSecret).status == 503) }
            #expect(log.counts.isFailing)
            try FileManager.default.moveItem(atPath: statePath + ".away", toPath: statePath)
            var reply = try await client.key(made.keyid, secret: otherStrongSecret)
            while reply.status == 503 { reply = try await client.key(made.keyid, secret: otherStrongSecret) }
            // The log may fail and recover while one guess is evaluated, whose line is lost then.
            #expect([1, 2].contains(reply.problem?.guessesRemaining))
        }
        #expect(try audit.verify().damage == nil)
    }

    @Test func `when an optional log fails, then lost events are counted`() async throws {
        let capture = LogCapture()
        let log = try AuditLog(audit.writer(), logger: capture.makeLogger())
        try FileManager.default.moveItem(atPath: audit.state, toPath: audit.state + ".away")
        for _ in 0..<10_500 { try await log.record([AuditEvent(.keyReleased, keytag: "a")]) }
        log.logAnchor()
        #expect(log.counts.isFailing && log.counts.lost == 500)
        #expect(capture.text.contains("The audit log cannot be written"))
        try FileManager.default.moveItem(atPath: audit.state + ".away", toPath: audit.state)
        log.logAnchor()
        #expect(!log.counts.isFailing && capture.text.contains("The audit log can be written again"))
        #expect(try lines().last == Line(event: "events-lost", count: 500))
        let report = try audit.verify()
        #expect(report.damage == nil && report.count == 10_002)
        #expect(report.notes.contains { $0.contains("500 events were lost") })
    }

    @Test func `when a service has an audit log, then programs need it`() throws {
        let writer = try audit.writer()
        let id = try writer.id()
        #expect(id.count == 16)
        try audit.append("a", "b")
        #expect(try audit.writer().id() == id, "the id outlives every key")
        let other = try AuditWriter.create(path: audit.folder.path + "/other.log", instance: "test") { _ in }
        for given in [nil, writer, other] { try AuditWriter.require(given, among: []) }
        try AuditWriter.require(writer, among: [[1], id])
        let none = #expect(throws: KeyServiceServerError.self) { try AuditWriter.require(nil, among: [id]) }
        #expect(none?.code == .configurationInvalid && none?.remedy == .nameAuditLog)
        let wrong = #expect(throws: KeyServiceServerError.self) { try AuditWriter.require(other, among: [id]) }
        #expect(wrong?.code == .configurationInvalid && wrong?.remedy == .addAuditLog)
    }

    // A thief with the operator's rights writes the commands' lines elsewhere.
    @Test func `when a log is added, then the old one says so`() async throws {
        let store = InMemoryKeyRecordStore()
        let log = try AuditLog(audit.writer(), isRequired: true, logger: Logger(label: "test"))
        let service = AuditService(log: log, store: store)
        try await store.addAuditLog(audit.writer().id())
        #expect(await service.noteAddedLogs(since: 0) == 0)
        try await store.addAuditLog([1])
        #expect(await service.noteAddedLogs(since: 1) == 2)
        #expect(await service.noteAddedLogs(since: 2) == 2)
        #expect(try lines() == [Line(event: "log-made"), Line(event: "log-added", count: 2)])
        let opened = try await OpenedStore(store, masterKeys: MasterKeys(.random()))
        try await withService(opened, setup: .live, audit: log) { _ in }
        #expect(try lines()[2] == Line(event: "server-started", count: 2))
        let notes = try audit.verify().notes
        #expect(notes == ["Since line 2, the service has 2 audit logs. Verify each of them."])
    }

    @Test func `when a server crashes, then the report notes it`() async throws {
        let writer = try audit.writer()
        for event in [.serverStarted, .serverStopped, .serverStarted] as [AuditEvent.Kind] {
            try writer.append([AuditEvent(event)])
        }
        #expect(try audit.verify().notes.isEmpty)
        try writer.append([AuditEvent(.serverStarted)])
        #expect(try audit.verify().notes.first?.contains("Before line 5, the server test ended without") == true)
    }
}
