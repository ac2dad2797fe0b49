internal import NIOCore
internal import NIOPosix

/// The one I/O thread of this package.
enum EventLoops {
    /// Started at first use and never shut down, as NIO's own singleton group, which has a thread for every core.
    static let shared = MultiThreadedEventLoopGroup(numberOfThreads: 1)
}

extension TimeAmount {
    /// The same length of time; what does not fit into nanoseconds is cut to a year.
    init(_ duration: Duration) {
        let year: Int64 = 31_536_000
        let (seconds, attoseconds) = duration.components
        self =
            seconds >= year
            ? .seconds(year) : .nanoseconds(max(0, seconds * 1_000_000_000 + attoseconds / 1_000_000_000))
    }
}
