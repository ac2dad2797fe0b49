internal import ArgumentParser
internal import Foundation
internal import KeyServiceAudit
internal import KeyServiceCore
internal import KeyServiceSQLite
internal import KeyServiceServer
internal import Logging

/// Which audit log is written.
struct AuditOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            The audit log. Make it first with: vault-key-service audit init. Once a server has written an audit log, \
            each server and each command that changes keys needs this option or its setting.
            """, valueName: "file"))
    var auditLog: String?

    @Option(
        help: ArgumentHelp(
            "The name of this server in the lines of the audit log. (default: the name of the machine)",
            valueName: "name"))
    var instance: String?

    /// Opens the audit log; nil without the setting.
    func writer(_ settings: Settings) throws -> AuditWriter? {
        try settings.string(auditLog, "auditLog").map { try AuditWriter(path: $0, instance: name(settings)) }
    }

    func requiredPath(_ settings: Settings) throws -> String {
        guard let path = settings.string(auditLog, "auditLog") else {
            throw Failure.configuration("No audit log is given. Use --audit-log FILE.")
        }
        return path
    }

    func name(_ settings: Settings) -> String {
        settings.string(instance, "instance") ?? Self.machineName
    }

    /// Not from Foundation, which asks the network for it.
    private static var machineName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "unknown" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Writes a line for an operator's command before its work. If there is no line, there is no work. If the work
    /// fails, another line says so.
    ///
    /// - Parameters:
    ///   - logs: the ids of the service's audit logs. If there are any, the line must be in one of them.
    ///   - keyID: the key of the command. Its tag is in the line if the master key can be read.
    func recording<R>(
        _ kind: AuditEvent.Kind, in logs: [[UInt8]], keyID: String? = nil, _ settings: Settings,
        _ work: () async throws -> R
    ) async throws -> R {
        let writer = try writer(settings)
        try AuditWriter.require(writer, among: logs)
        let tag = keyID.flatMap { id in try? KeyTags(settings.folder().masterKeys().current).tag(of: id) }
        try writer?.append([Self.event(kind, tag)])
        do {
            return try await work()
        } catch {
            try? writer?.append([Self.event(.operatorFailed, tag)])
            throw error
        }
    }

    private static func event(_ kind: AuditEvent.Kind, _ tag: String?) -> AuditEvent {
        let sudoUser = ProcessInfo.processInfo.environment["SUDO_UID"].flatMap { UInt32($0) }
        return AuditEvent(kind, keytag: tag, user: getuid(), sudoUser: sudoUser)
    }
}

/// How the server treats its audit log.
struct ServerAuditOptions: ParsableArguments {
    @OptionGroup var options: AuditOptions

    @Flag(help: "Refuse requests (503) while the audit log cannot be written.")
    var auditRequired = false

    /// Opens the audit log; nil without one. The store remembers its first audit log, and demands it from then on.
    func log(
        _ settings: Settings, of store: any KeyRecordOperations, logger: Logger, metrics: KeyServiceMetrics
    ) async throws -> AuditLog? {
        let isRequired = try settings.flag(auditRequired, "auditRequired")
        let given = try options.writer(settings)
        let known = try await store.auditLogs()
        try AuditWriter.require(given, among: known)
        guard let writer = given else {
            guard !isRequired else { throw Failure.configuration("--audit-required also needs --audit-log FILE.") }
            return nil
        }
        if known.isEmpty { try await store.addAuditLog(writer.id()) }
        return AuditLog(
            writer, isRequired: isRequired, logger: logger, observer: metrics, explain: Failure.words)
    }
}
