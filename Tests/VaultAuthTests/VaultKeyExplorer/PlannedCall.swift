import TestSupport

/// A call that a program will make.
struct PlannedCall: Sendable {
    enum Kind: CaseIterable {
        case login, refresh, write, writeLarge, read, addMethod, replace, replaceClosed, replaceBesideOthers
    }

    private static let kinds =
        Kind.allCases + [.login, .addMethod, .replace, .replace, .replaceClosed, .replaceClosed, .replaceBesideOthers]

    let kind: Kind
    /// Chooses one of the unlock methods of the account.
    let way: Int
    /// The number of the step at which the person cancels the call; nil if the person waits.
    let cancelledAt: Int?

    init(using random: inout SeededGenerator) {
        kind = Self.kinds.randomElement(using: &random) ?? .login
        way = Int.random(in: 0..<6, using: &random)
        cancelledAt = Int.random(in: 0..<6, using: &random) == 0 ? Int.random(in: 0..<60, using: &random) : nil
    }
}

/// The contents of an item that only one program writes.
struct ItemHistory: Sendable {
    /// The content that was acknowledged last, and the contents that may have replaced it since then.
    private(set) var possible: Set<[UInt8]?> = [nil]
    private var count: UInt8 = 0

    /// Returns the content of the next write. It may be stored from now on.
    mutating func next(isLarge: Bool) -> [UInt8] {
        count += 1
        let content = (0..<(isLarge ? 150_000 : 20)).map { UInt8(truncatingIfNeeded: $0 / 100) ^ count }
        possible.insert(content)
        return content
    }

    mutating func acknowledge(_ content: [UInt8]) { possible = [content] }

    /// A write that failed has changed nothing.
    mutating func refuse(_ content: [UInt8]) { possible.remove(content) }
}
