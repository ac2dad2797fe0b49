internal import ArgumentParser
internal import CredentialVault

/// An unlock method of an account that an option without a value names: `--pin`.
struct NamedMethod: EnumerableFlag {
    let kind: Keyslot.Kind

    static var allCases: [NamedMethod] { MethodKind.all.filter { $0.help != nil }.map { NamedMethod(kind: $0.kind) } }

    static func name(for value: NamedMethod) -> NameSpecification {
        .customLong(MethodKind.of(value.kind)?.option ?? value.kind.rawValue)
    }

    static func help(for value: NamedMethod) -> ArgumentHelp? {
        MethodKind.of(value.kind)?.help.map { ArgumentHelp($0) }
    }
}

/// An unlock method that `vault unlock add` adds, by its kind.
struct AddedMethod: ExpressibleByArgument, Sendable {
    let method: MethodKind
    let addition: MethodKind.Addition

    static let all = MethodKind.all.compactMap { method in
        method.addition.map { AddedMethod(method: method, addition: $0) }
    }

    private init(method: MethodKind, addition: MethodKind.Addition) {
        self.method = method
        self.addition = addition
    }

    init?(argument: String) {
        guard let found = Self.all.first(where: { $0.method.kind.rawValue == argument }) else { return nil }
        self = found
    }

    static var allValueStrings: [String] { all.map(\.method.kind.rawValue) }

    static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }

    var defaultValueDescription: String { method.kind.rawValue }
}

extension [String] {
    /// For a sentence: `pin, recovery and offline`.
    func listed(_ word: String) -> String {
        count < 2 ? joined() : dropLast().joined(separator: ", ") + " \(word) " + self[count - 1]
    }
}
