internal import ArgumentParser
internal import CredentialVault

/// `--method`: how `vault register` signs in.
enum WayIn: String, CaseIterable, ExpressibleByArgument {
    case browser
    case device
    case backend
    case password
    case passwordGrant = "password-grant"
    case server

    /// A line each for `--help`.
    static var allValueDescriptions: [String: String] {
        [
            "browser": "At an OpenID provider, in the browser.",
            "device": "At an OpenID provider, with a code that is entered on another device.",
            "backend": "In the browser, at a backend that keeps its provider to itself.",
            "password": "At a backend, with e-mail address and password.",
            "password-grant": "At an OpenID provider that allows it, with user name and password.",
            "server": "At a server that says what it has: in the browser, or else with user name and password.",
        ]
    }

    /// Whether an OpenID provider is what the person signs in at.
    var isOpenID: Bool { [.browser, .device, .passwordGrant].contains(self) }
    /// What a backend is asked as; nil for an OpenID provider.
    var backendKind: BackendCheck.Kind? {
        switch self {
        case .backend: .browser
        case .password: .password
        case .server: .server
        case .browser, .device, .passwordGrant: nil
        }
    }
    /// Whether the person may have to type a password for somewhere else than the vault.
    var takesPassword: Bool { [.password, .passwordGrant, .server].contains(self) }
    /// Whether a redirect brings the answer.
    var takesRedirect: Bool { [.browser, .backend, .server].contains(self) }
}
