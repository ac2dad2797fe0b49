public import FoundationEssentials

/// The time of day. Tests can replace it.
///
/// A conformer must be fast, and safe to call from any task. The time may jump, also backwards.
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
