internal import ArgumentParser
internal import CredentialVault

/// One kind of unlock method: its option, its secret, and how to add it. Each kind is a constant in
/// `TypedMethods.swift`, `DesktopMethod.swift` or `HardwareMethods.swift`, with an entry in ``all``.
struct MethodKind: Sendable {
    /// All methods, in the order that a person sees.
    static let all: [MethodKind] = [.password, .pin, .recovery, .offline, .desktop, .pkcs11, .tpm2, .fido2]

    let kind: Keyslot.Kind
    /// The option that names it, without its dashes.
    let option: String
    /// The text for `--help`; nil if the option also takes an address (see ``HardwareOptions``).
    var help: String?
    /// The name of the secret that a person types, as in its prompt; nil for hardware and the desktop keyring.
    var secretName: String?
    /// The hardware or keyring behind it.
    var hardware: HardwareKind?
    /// How `vault unlock add` adds it; nil if that cannot add it.
    var addition: Addition?
    /// Whether it opens an account only if its option is given.
    var requiresOption = false

    /// - Returns: nil for hardware of an app, which this command does not know.
    static func of(_ kind: Keyslot.Kind) -> MethodKind? { all.first { $0.kind == kind } }

    /// The kind that a person types: the word of lists and JSON, the option, or the name in messages. `pin`, `PIN` and
    /// `recovery code` are kinds.
    static func typed(_ text: String) -> MethodKind? {
        func plain(_ text: String) -> String { text.lowercased().replacing("-", with: " ") }
        return all.first { method in
            [method.kind.rawValue, method.option, method.kind.displayName, method.kind.listName].map(plain)
                .contains(plain(text))
        }
    }
}

extension Keyslot.Kind {
    /// The option that opens an account with it.
    var option: String { "--\(MethodKind.of(self)?.option ?? rawValue)" }

    /// The words after `vault` that add one; nil for the password, and for hardware of an app.
    var adding: String? { MethodKind.of(self)?.addition == nil ? nil : "unlock add \(rawValue)" }

    /// The words after `vault` that replace its secret; nil for hardware, and for the password.
    var replacement: String? { MethodKind.of(self)?.secretName == nil ? nil : adding }

    /// The words after `vault` that make it again if it is damaged, with another unlock method; nil for hardware.
    var remake: String? { self == .password ? "passwd" : replacement }
}

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
        let kind = MethodKind.typed(argument)?.kind
        guard let found = Self.all.first(where: { $0.method.kind == kind }) else { return nil }
        self = found
    }

    /// The words on the command line. They are not `allValueStrings`, because the parser names those only in the help,
    /// and not if the argument is missing. The help of the argument has them.
    static var names: [String] { all.map(\.method.kind.rawValue) }

    static var defaultCompletionKind: CompletionKind { .list(names) }

    var defaultValueDescription: String { method.kind.rawValue }
}

extension [String] {
    /// For a sentence: `pin, recovery and offline`.
    func listed(_ word: String) -> String {
        count < 2 ? joined() : dropLast().joined(separator: ", ") + " \(word) " + self[count - 1]
    }
}
