/// The state of a monitor. Its description is one line for a person, such as `logind: screen lock, sleep`.
public struct MonitorStatus: Sendable, Hashable, CustomStringConvertible {
    /// The source of the changes: `logind`, `terminal`, `app`.
    public let source: String
    /// The noticed events: `screen lock`, `sleep`. Empty while it notices nothing.
    public let events: [String]
    /// The reason why it notices nothing, or less than usual, in one sentence; nil if all is well.
    public let problem: String?

    /// Makes the status of a ``BackgroundMonitor`` of your own.
    ///
    /// - Parameters:
    ///   - source: the name of the source: `app`.
    ///   - events: the names of the events; empty while the monitor tells of nothing.
    ///   - problem: the reason why the monitor notices nothing, or less than usual, in one sentence for a person; nil
    ///     if all is well.
    public init(source: String, events: [String], problem: String? = nil) {
        self.source = source
        self.events = events
        self.problem = problem
    }

    /// Whether it notices any events.
    public var isListening: Bool { !events.isEmpty }

    public var description: String {
        let events = events.isEmpty ? "nothing" : events.joined(separator: ", ")
        return "\(source): \(events)" + (problem.map { " (\($0))" } ?? "")
    }
}
