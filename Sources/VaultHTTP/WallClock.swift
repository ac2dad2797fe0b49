public import FoundationEssentials

/// The time of day. A seam, so that tests can decide what time it is.
///
/// A conformer must be cheap to ask and safe from any task; it may jump, also backwards.
public protocol WallClock: Sendable {
    /// The current time.
    var now: Date { get }
}

/// The clock of the machine.
public struct SystemWallClock: WallClock {
    /// Makes the clock of the machine.
    public init() {}

    /// The time of the machine.
    public var now: Date { Date() }
}
