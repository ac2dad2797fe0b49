/// The state of a monitor, as values. An app can say it in its own language: see ``events``, and the code of
/// ``problem``. The description is one line for a log, such as `logind: screen lock, sleep`.
public struct MonitorStatus: Sendable, Hashable, CustomStringConvertible {
    /// An event that a monitor notices. New events may be added, so a `switch` over them needs a `default`: show
    /// ``MonitorStatus/Event/description``.
    public struct Event: Hashable, Sendable, CustomStringConvertible {
        /// The event as a word, stable across versions.
        public let name: String

        /// Makes an event of a monitor of your own.
        ///
        /// - Parameter name: the event as a word.
        public init(name: String) { self.name = name }

        /// The app goes to the background, and says so itself.
        public static let background = Event(name: "background")
        /// The person does nothing for a while.
        public static let noActivity = Event(name: "noActivity")
        /// The person stops the program in the terminal with Ctrl-Z.
        public static let stop = Event(name: "stop")
        /// The screen is locked.
        public static let screenLock = Event(name: "screenLock")
        /// The machine goes to sleep.
        public static let sleep = Event(name: "sleep")
        /// The monitor does not name its events.
        public static let other = Event(name: "other")

        public var description: String {
            switch self {
            case .noActivity: "no activity"
            case .stop: "Ctrl-Z"
            case .screenLock: "screen lock"
            case .other: "its own events"
            default: name
            }
        }
    }

    /// The reason why a monitor notices nothing, or less than usual.
    public struct Problem: Hashable, Sendable, CustomStringConvertible {
        /// The kind of problem. New codes may be added, so a `switch` over them needs a `default`: show
        /// ``MonitorStatus/Problem/description``.
        public struct Code: Hashable, Sendable {
            /// The code as a word, stable across versions.
            public let name: String

            /// Makes a code of a monitor of your own.
            ///
            /// - Parameter name: the code as a word.
            public init(name: String) { self.name = name }

            /// The monitor has ended, and will notice nothing more.
            public static let ended = Code(name: "ended")
            /// The program was started so that it ignores Ctrl-Z.
            public static let stopIgnored = Code(name: "stopIgnored")
        }

        /// What is wrong.
        public let code: Code
        /// One sentence for a person.
        public let description: String

        /// Makes a problem of a monitor of your own.
        ///
        /// - Parameters:
        ///   - code: what is wrong.
        ///   - description: the same in one sentence.
        public init(_ code: Code, _ description: String) {
            self.code = code
            self.description = description
        }
    }

    /// The source of the changes: `logind`, `terminal`, `app`.
    public let source: String
    /// The events that the monitor notices; empty while it notices nothing.
    public let events: [Event]
    /// The reason why it notices nothing, or less than usual; nil if all is well.
    public let problem: Problem?

    /// Makes the status of a ``BackgroundMonitor`` of your own.
    ///
    /// - Parameters:
    ///   - source: the name of the source, such as `app`.
    ///   - events: the events; empty while the monitor tells of nothing.
    ///   - problem: the reason why the monitor notices nothing, or less than usual; nil if all is well.
    public init(source: String, events: [Event], problem: Problem? = nil) {
        self.source = source
        self.events = events
        self.problem = problem
    }

    /// Whether it notices any events.
    public var isListening: Bool { !events.isEmpty }

    public var description: String {
        let events = events.isEmpty ? "nothing" : events.map(\.description).joined(separator: ", ")
        return "\(source): \(events)" + (problem.map { " (\($0))" } ?? "")
    }
}
