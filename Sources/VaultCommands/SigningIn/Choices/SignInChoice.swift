internal import ArgumentParser
internal import CredentialVault

/// `--method`: how `vault register` signs in. Each choice has a file in this folder, and a line in ``all``.
struct SignInChoice: Sendable, Equatable, ExpressibleByArgument {
    static let all: [SignInChoice] = [.browser, .device, .backend, .password, .passwordGrant, .server]

    /// The name of the unlock method `--method`.
    let name: String
    /// A line for `--help`.
    let help: String
    /// The kind of backend; nil for an OpenID provider.
    var backendKind: BackendCheck.Kind?
    /// Whether the person may have to type another password than the vault's.
    var takesPassword = false
    /// Whether a redirect brings the answer.
    var takesRedirect = false
    /// Whether a provider's parameters, such as `--prompt`, have a meaning for it.
    var takesParameters = false
    /// Signs in.
    let run: @Sendable (SigningIn, StatusChannel) async throws -> SignInResult

    /// Whether the person signs in at an OpenID provider.
    var isOpenID: Bool { backendKind == nil }

    /// The choice of that name; nil when there is none.
    init?(named name: String) {
        guard let choice = Self.all.first(where: { $0.name == name }) else { return nil }
        self = choice
    }

    init(
        name: String, help: String, backendKind: BackendCheck.Kind? = nil, takesPassword: Bool = false,
        takesRedirect: Bool = false, takesParameters: Bool = false,
        run: @escaping @Sendable (SigningIn, StatusChannel) async throws -> SignInResult
    ) {
        self.name = name
        self.help = help
        self.backendKind = backendKind
        self.takesPassword = takesPassword
        self.takesRedirect = takesRedirect
        self.takesParameters = takesParameters
        self.run = run
    }

    static func == (first: SignInChoice, second: SignInChoice) -> Bool { first.name == second.name }

    // MARK: - As an argument

    init?(argument: String) { self.init(named: argument) }

    static var allValueStrings: [String] { all.map(\.name) }

    static var allValueDescriptions: [String: String] {
        Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0.help) })
    }

    static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }

    var defaultValueDescription: String { name }
}
