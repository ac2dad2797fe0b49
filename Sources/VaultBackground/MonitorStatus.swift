/// What a monitor listens to, and whether it does. For a person: its description is one line, such as
/// `logind: screen lock, sleep`.
public struct MonitorStatus: Sendable, Hashable, CustomStringConvertible {
    /// What tells: `logind`, `terminal`, `app`.
    public let source: String
    /// What it tells of: `screen lock`, `sleep`. Empty while it tells of nothing.
    public let events: [String]
    /// Why it tells of nothing, or of less than usual; nil when all is well. One sentence.
    public let problem: String?

    /// Makes the status of a ``BackgroundMonitor`` of your own.
    ///
    /// - Parameters:
    ///   - source: the name of the source: `app`.
    ///   - events: the names of the events; empty while the monitor tells of nothing.
    ///   - problem: one sentence for a person that says why the monitor tells of nothing, or of less than usual; nil
    ///     when all is well.
    public init(source: String, events: [String], problem: String? = nil) {
        self.source = source
        self.events = events
        self.problem = problem
    }

    /// Whether it tells of anything.
    public var isListening: Bool { !events.isEmpty }

    public var description: String {
        let events = events.isEmpty ? "nothing" : events.joined(separator: ", ")
        return "\(source): \(events)" + (problem.map { " (\($0))" } ?? "")
    }
}
