internal import ArgumentParser
internal import Foundation
internal import KeyServiceAudit
internal import KeyServiceCore
internal import KeyServiceSQLite
internal import KeyServiceServer
internal import Logging

/// Which audit log is written.
struct AuditOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The audit log. Make it first with: vault-key-service audit init", valueName: "file"))
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
    /// - keyID: the key of the command. Its tag is in the line if the master key can be read.
    func recording<R>(
        _ kind: AuditEvent.Kind, keyID: String? = nil, _ settings: Settings, _ work: () async throws -> R
    ) async throws -> R {
        let writer = try writer(settings)
        let tag = keyID.flatMap { id in try? KeyTags(settings.folder().masterKeys().current).tag(of: id) }
        try writer?.append([AuditEvent(kind, keytag: tag, user: getuid())])
        do {
            return try await work()
        } catch {
            try? writer?.append([AuditEvent(.operatorFailed, keytag: tag, user: getuid())])
            throw error
        }
    }
}

/// How the server treats its audit log.
struct ServerAuditOptions: ParsableArguments {
    @OptionGroup var options: AuditOptions

    @Flag(help: "Refuse requests (503) while the audit log cannot be written.")
    var auditRequired = false

    func log(_ settings: Settings, logger: Logger, metrics: KeyServiceMetrics) throws -> AuditLog? {
        let isRequired = try settings.flag(auditRequired, "auditRequired")
        guard let writer = try options.writer(settings) else {
            guard !isRequired else { throw Failure.configuration("--audit-required also needs --audit-log FILE.") }
            return nil
        }
        return AuditLog(
            writer, isRequired: isRequired, logger: logger, observer: metrics, explain: Failure.words)
    }
}
