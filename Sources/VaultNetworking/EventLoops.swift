internal import NIOCore
internal import NIOPosix

/// The only I/O thread of this package.
enum EventLoops {
    /// The event loop group. It starts at the first use and never stops, like NIO's own singleton group, which has a
    /// thread for every core.
    static let shared = MultiThreadedEventLoopGroup(numberOfThreads: 1)
}

extension TimeAmount {
    /// Converts a duration. A duration that does not fit into nanoseconds becomes a year.
    init(_ duration: Duration) {
        let year: Int64 = 31_536_000
        let (seconds, attoseconds) = duration.components
        self =
            seconds >= year
            ? .seconds(year) : .nanoseconds(max(0, seconds * 1_000_000_000 + attoseconds / 1_000_000_000))
    }
}
