internal import ArgumentParser
internal import CredentialVault

/// A way into an account that an option without a value names: `--pin`.
struct NamedWay: EnumerableFlag {
    let kind: Keyslot.Kind

    static var allCases: [NamedWay] { Way.all.filter { $0.help != nil }.map { NamedWay(kind: $0.kind) } }

    static func name(for value: NamedWay) -> NameSpecification {
        .customLong(Way.of(value.kind)?.option ?? value.kind.rawValue)
    }

    static func help(for value: NamedWay) -> ArgumentHelp? { Way.of(value.kind)?.help.map { ArgumentHelp($0) } }
}

/// A way in that `vault unlock add` adds, by its kind.
struct AddedWay: ExpressibleByArgument, Sendable {
    let way: Way
    let addition: Way.Addition

    static let all = Way.all.compactMap { way in way.addition.map { AddedWay(way: way, addition: $0) } }

    private init(way: Way, addition: Way.Addition) {
        self.way = way
        self.addition = addition
    }

    init?(argument: String) {
        guard let found = Self.all.first(where: { $0.way.kind.rawValue == argument }) else { return nil }
        self = found
    }

    static var allValueStrings: [String] { all.map(\.way.kind.rawValue) }

    static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }

    var defaultValueDescription: String { way.kind.rawValue }
}

extension [String] {
    /// For a sentence: `pin, recovery and offline`.
    func listed(_ word: String) -> String {
        count < 2 ? joined() : dropLast().joined(separator: ", ") + " \(word) " + self[count - 1]
    }
}
