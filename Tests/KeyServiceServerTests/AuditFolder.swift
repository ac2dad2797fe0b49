import Foundation

@testable import KeyServiceAudit

/// A small audit log, its verification key and the thief's tools.
struct AuditFolder: Sendable {
    let folder: TemporaryFolder
    var log: String { folder.path + "/audit.log" }
    var state: String { log + ".state" }
    var keyFile: String { folder.path + "/audit.key" }

    /// Makes a log whose first line is there.
    init() throws {
        folder = try TemporaryFolder()
        _ = try AuditWriter.create(path: log, instance: "test") { [keyFile] in try $0.save(path: keyFile) }
    }

    func writer() throws -> AuditWriter { try AuditWriter(path: log, instance: "test") }

    /// Writes one line for each tag, each in a batch of its own.
    func append(_ tags: String...) throws {
        for tag in tags { try writer().append([AuditEvent(.keyReleased, keytag: tag)]) }
    }

    func verify(
        _ files: [String]? = nil, anchors: [AuditAnchor] = [], start: AuditAnchor? = nil
    ) throws -> AuditReport {
        let verifier = try AuditVerifier(key: AuditVerificationKey(path: keyFile), anchors: anchors, start: start)
        return try verifier.verify(files ?? [log])
    }

    func bytes(_ path: String) throws -> [UInt8] { try [UInt8](Data(contentsOf: URL(fileURLWithPath: path))) }

    /// Overwrites a file and keeps its inode.
    func overwrite(_ path: String, _ bytes: some Sequence<UInt8>) throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: Data(bytes))
        try file.close()
    }

    func lines() throws -> [String] {
        try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").map { $0 + "\n" }
    }

    func overwriteLog(_ lines: [String]) throws { try overwrite(log, lines.joined().utf8) }
}
