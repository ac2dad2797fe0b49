internal import KeyServiceCore

extension AuditWriter {
    /// Checks that a program that changes a store writes an audit log of this store. Otherwise an operator could forget
    /// the log, and a thief with the operator's rights could write a log of their own.
    ///
    /// - Parameters:
    ///   - writer: the log that the program writes; nil for none.
    ///   - logs: the ids of the store's audit logs. If there are none, every program may change the store.
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if the program writes none of them.
    package static func require(_ writer: AuditWriter?, among logs: [[UInt8]]) throws {
        guard !logs.isEmpty else { return }
        guard let writer else {
            throw KeyServiceServerError(
                .configurationInvalid, "The service has an audit log. Each change needs a line there.",
                remedy: .nameAuditLog)
        }
        guard try logs.contains(writer.id()) else {
            throw KeyServiceServerError(
                .configurationInvalid, "\(writer.path) is not an audit log of this service.", remedy: .addAuditLog)
        }
    }
}
