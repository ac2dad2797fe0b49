internal import ArgumentParser
internal import KeyServiceAudit
internal import KeyServiceCore

extension Audit {
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add an audit log to the service, because a log is lost, or for a further server.",
            discussion: """
                  vault-key-service audit init --audit-log new.log --verification-key new.key
                  vault-key-service audit add --data keys --audit-log new.log

                The service remembers its audit logs. Without one of these, no server starts, and no command changes \
                keys. After "audit add", servers and commands can use the new log like the old one. The second line of \
                the new log is operator-adds-log. Servers that write another log of the service write log-added there \
                within ten minutes.
                """)

        @OptionGroup var common: CommonOptions
        @OptionGroup var audit: AuditOptions

        func run() async throws {
            try await common.operate { store in
                let settings = try Settings(common)
                let writer = try AuditWriter(path: audit.requiredPath(settings), instance: audit.name(settings))
                let id = try writer.id()
                guard try await !store.auditLogs().contains(id) else {
                    return Output.result("\(writer.path) is an audit log of the service already.")
                }
                try await audit.recording(.operatorAddsLog, in: [], settings) { try await store.addAuditLog(id) }
                Output.result("\(writer.path) is an audit log of the service now.")
            }
        }
    }
}
