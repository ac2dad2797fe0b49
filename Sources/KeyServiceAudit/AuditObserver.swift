/// Sees what happens to the audit log, for the figures of the service. A conformer must not block.
package protocol AuditObserver: Sendable {
    /// Events will never be in the log.
    func auditEventsLost(_ count: Int)

    /// The log cannot be written any more, or can be written again.
    func auditIsFailing(_ isFailing: Bool)
}
